import CoordinationService
import DocumentMount
import DocumentStore
import StorePrimitives
import SystemPackage

/// Versions to recover, for the service's clients.
extension ServedMount {
    /// Some 300 bytes each in a reply.
    private static var mostVersions: Int { 500 }

    func keptVersions(before: UInt64?, for peer: Peer) throws(ServiceFailure) -> [RecoverableVersion] {
        store.keptVersions(before: before, count: Self.mostVersions, for: Credentials(peer)).map { version in
            RecoverableVersion(
                id: version.id, path: place(version.document), time: Double(version.time) / 1e9,
                size: version.size, hasContent: version.hasContent,
                saver: version.saver.map { .init(pid: $0.pid, process: $0.name, uid: $0.uid) },
                reason: version.reason.word, explanation: version.reason.description, owner: version.owner,
                group: version.group, mode: version.mode)
        }
    }

    func keptContent(of id: UInt64, from offset: Int64, count: Int, for peer: Peer) throws(ServiceFailure) -> RecoveredPart {
        do throws(Errno) {
            let part = try store.keptContent(of: id, from: offset, count: count, for: Credentials(peer))
            return RecoveredPart(offset: part.offset, bytes: part.bytes)
        } catch .noSuchFileOrDirectory {
            throw Self.noSuchVersion(id)
        } catch .fileTooLarge {
            throw .failed("version \(id) was too large to be kept")
        } catch {
            throw .failed("version \(id) cannot be read: \(error)")
        }
    }

    func dropKeptVersion(_ id: UInt64, for peer: Peer) throws(ServiceFailure) {
        do throws(Errno) {
            try store.dropKeptVersion(id, for: Credentials(peer))
        } catch {
            throw Self.noSuchVersion(id)
        }
    }

    func keepPresentVersion(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> UInt64? {
        guard let path = document.inside(configuration) else { throw .notFound("\(document.wire) in this mount") }
        do throws(Errno) {
            return try store.keepPresentVersion(of: path, for: Credentials(peer)).id
        } catch .fileTooLarge {
            return nil
        } catch .permissionDenied {
            throw .permissionDenied("\(document) is not yours to write")
        } catch {
            throw .failed("\(document): what is there cannot be kept: \(error)")
        }
    }

    private static func noSuchVersion(_ id: UInt64) -> ServiceFailure { .notFound("version \(id) to recover") }
}
