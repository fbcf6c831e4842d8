import Testing

/// Tests on real mounts, as root and as an ordinary user.
///
/// They run one after another: some measure time, and all of them look at the machine's mounts.
@Suite(.serialized) enum MountTests {}
