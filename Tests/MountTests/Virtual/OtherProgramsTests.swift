import TestSupport
import Testing

extension MountTests {
    struct OtherProgramsTests {
        /// Each command of `quire help from-other-programs` does what its row says.
        @Test(arguments: Account.allCases)
        func theRowsOfTheHelpPageDoWhatTheySay(account: Account) throws {
            try withMount(account, ["search-text=on"]) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Products.text(of: "other-programs.sh"))
            }
        }
    }
}
