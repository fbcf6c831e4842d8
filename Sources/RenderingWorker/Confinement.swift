import CLinux
import CSeccomp
import Glibc
import WorkerProtocol

/// What a worker takes from itself before it reads anything, on top of what bubblewrap has taken: it has no network, no home and no
/// files but the system's, no capabilities, and everything in it ends with it.
enum Confinement {
    /// Address space. Decoders reserve more than they use, and the largest picture that is rendered takes a few hundred MiB.
    private static let memory: UInt = 2 << 30
    /// A program that others wrote may be one that reserves much: half of what a small machine has.
    private static let programMemory: UInt = 4 << 30
    /// Seconds of processor time for one request. What takes longer is not worth a thumbnail.
    private static let seconds = 20
    private static let processes: UInt = 64

    /// - Parameter programs: whether programs of others are to be run, which may do more than the decoders here.
    static func enter(programs: Bool) {
        cl_become_idle()
        cl_give_up_privileges()
        limit(RLIMIT_CORE, 0)
        limit(RLIMIT_FSIZE, UInt(programs ? WorkLimits.copied : WorkLimits.result))
        limit(RLIMIT_AS, programs ? programMemory : memory)
        limit(RLIMIT_NOFILE, 256)
        limit(__RLIMIT_NPROC, processes)
        let filter = programs ? SystemCallFilter.programs : SystemCallFilter.decoders
        // Without it nothing is read.
        guard filter.load() else { exit(126) }
    }

    /// Counts the time of the next request. Over it the kernel ends the worker.
    static func limitTime() {
        var used = rusage()
        getrusage(RUSAGE_SELF.rawValue, &used)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
        limit.rlim_cur = rlim_t(used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + seconds)
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
    }

    private static func limit(_ resource: __rlimit_resource, _ value: UInt) {
        var limit = rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(value))
        setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }
}
