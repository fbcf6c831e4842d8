import Glibc

/// The limits that a process has from whoever started it (getrlimit(2)).
enum ProcessLimits {
    /// Raises those that would stop a daemon's work for others, as far as the system lets it: handles of apps need a descriptor each, and
    /// whoever mounts may have limits for programs of their own. A write beyond RLIMIT_FSIZE, where that stays, fails with EFBIG and does
    /// not end the process.
    static func raise() {
        signal(SIGXFSZ, SIG_IGN)
        for resource in [RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA] where geteuid() == 0 {
            var unlimited = rlimit(rlim_cur: rlim_t.max, rlim_max: rlim_t.max)
            setrlimit(__rlimit_resource_t(clamping: resource.rawValue), &unlimited)
        }
        for resource in [RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA] {
            let resource = __rlimit_resource_t(clamping: resource.rawValue)
            var limit = rlimit()
            guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { continue }
            limit.rlim_cur = limit.rlim_max
            setrlimit(resource, &limit)
        }
    }
}
