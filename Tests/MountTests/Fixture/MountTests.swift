import Synchronization
import TestSupport
import Testing

/// Tests on real mounts, as root and as an ordinary user.
///
/// They run one after another, as all of them look at the machine's mounts. An issue tells what the last
/// program printed, since `#expect(try …)` does not say what it got.
@Suite(.serialized, .compactMapIssues { LastProgram.added(to: $0) })
enum MountTests {}

/// The last script or command that a test ran.
enum LastProgram {
    private static let note = Mutex("")

    static func ended(_ name: String, _ result: ProgramResult) -> ProgramResult {
        let (output, errors) = (result.output.suffix(1000), result.errors.suffix(1000))
        note.withLock {
            $0 = "the last program, \(String(reflecting: String(name.prefix(200)))), ended with \(result.status) and printed "
                + "\(String(reflecting: String(output))), errors \(String(reflecting: String(errors)))"
        }
        return result
    }

    static func added(to issue: Issue) -> Issue {
        let comment = Comment(rawValue: note.withLock { $0 })
        // Each suite around the test passes the issue on.
        if issue.comments.contains(comment) { return issue }
        var issue = issue
        issue.comments.append(comment)
        return issue
    }
}
