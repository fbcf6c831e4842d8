import TestSupport
import Testing

extension MountTests {
    /// Opens of files that have lost their last name, which the daemon has retried once (`SaveService.retryRemoved`).
    @Suite(.sharedMounts)
    struct RemovedFileTests {
        /// The kernel opens each file for the listener, and does not retry that: neither a removed file nor a version that was
        /// replaced may be answered ESTALE.
        @Test(arguments: [SaveMount.root, .rootWithoutPassthrough])
        func aListenerOfFanotifyIsGivenRemovedAndReplacedFiles(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import ctypes, os, struct
                    M = os.environ["M"]
                    libc = ctypes.CDLL(None, use_errno=True)
                    # FAN_NONBLOCK; FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN | FAN_CLOSE_WRITE
                    group = libc.fanotify_init(2, os.O_RDONLY); assert group >= 0
                    libc.fanotify_mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p]
                    assert libc.fanotify_mark(group, 0x11, 0x28, -100, M.encode()) == 0, os.strerror(ctypes.get_errno())
                    for round in range(20):
                        with open("temporary", "w") as file: file.write("text")
                        os.unlink("temporary")
                        reader = open("doc"); reader.read()
                        with open("doc", "w") as file: file.write("new %d" % round)
                        reader.close()
                    events = 0
                    while True:
                        try: text = os.read(group, 4096)
                        except BlockingIOError: break
                        while text:
                            length, _, _, _, _, descriptor, _ = struct.unpack_from("<IBBHQii", text)
                            os.close(descriptor); text = text[length:]; events += 1
                    print(events >= 40)
                    """) == "True")
            }
        }

        /// On the second walk the kernel asks for the names on the way, too.
        @Test func aRemovedFileIsOpenedThroughProcInAChroot() throws {
            try withSharedMount(.root) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, subprocess
                    M = os.environ["M"]
                    os.mkdir("proc"); subprocess.check_call(["mount", "-t", "proc", "proc", M + "/proc"])
                    try:
                        if (child := os.fork()) == 0:
                            os.chroot(M); os.chdir("/")
                            for n in range(20):
                                with open("f", "w") as file: file.write("text")
                                held = open("f"); os.unlink("f")
                                assert open("/proc/self/fd/%d" % held.fileno()).read() == "text"
                            os._exit(0)
                        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                    finally: subprocess.call(["umount", "-l", M + "/proc"])
                    os.rmdir("proc")
                    """) == "0")
            }
        }
    }
}
