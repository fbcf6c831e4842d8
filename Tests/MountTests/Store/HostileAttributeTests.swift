import TestSupport
import Testing

extension MountTests {
    /// Attributes that no ordinary file has: a document may carry any that its file system can store, and a file system inside the
    /// store answers what it likes.
    @Suite(.sharedMounts) struct HostileAttributeTests {
        /// The time of birth, for which coreutils' stat asks, comes by another request than ls's attributes.
        @Test(arguments: SaveMount.accounts)
        func timesBefore1970AreShownAsTheyAre(kind: SaveMount) throws {
            let times = ["1969-12-31 23:59:58.500000000", "1969-12-31 23:59:59.999999999", "1911-11-11 11:11:11.000000001"]
            try withSharedMount(kind) { mount in
                for (number, time) in times.enumerated() {
                    try mount.shell("echo x >d\(number); touch -d '\(time) UTC' d\(number); setfattr -n user.xdg.tags -v t d\(number)")
                }
                for (number, time) in times.enumerated() {
                    for document in ["d\(number)", ".tags/t/d\(number)"] {
                        let shown = "stat -c '%y %w' \(document) | cut -d' ' -f 1,2; ls -l --time-style='+%Y-%m-%d %H:%M:%S.%N' \(document) | cut -d' ' -f 6,7"
                        #expect(try mount.shell(shown) == "\(time)\n\(time)", "\(document)")
                    }
                }
                try mount.shell("stat .tags .tags/t .recents .thumbnails .previews; rm d*")
            }
        }
    }
}
