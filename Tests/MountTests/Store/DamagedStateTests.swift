import TestSupport
import Testing

extension MountTests {
    /// State on disk that is not as it was written: a disk that went bad, a file put back from a backup, a cut.
    struct DamagedStateTests {
        /// The index, the log of intents, kept versions, and what is cached: flipped, cut, filled or removed at random while nothing is
        /// mounted. The store is then mounted and used, or refused with a message; nothing is changed in it.
        @Test(arguments: Account.allCases)
        func damagedStateIsMountedOrRefused(account: Account) throws {
            let mount = try Mount(account)
            defer { mount.end() }
            try mount.shell(
                """
                mkdir notes; for n in $(seq 40); do echo "document $n" > notes/d$n; done
                for n in $(seq 40); do setfattr -n user.xdg.tags -v "t,u$n" notes/d$n; done
                """, in: mount.store)
            let seed = UInt32.random(in: 1 ... .max)
            try mount.python("seed, rounds = \(seed), \(isLongRun ? 400 : 6)\n" + Self.program, in: "/", limit: .seconds(isLongRun ? 3_600 : 300))
        }

        private static let program = Products.text(of: "damage-state.py")
    }
}
