import ArgumentParser
import CLinux
import DocumentRendering
import Glibc
import StorePrimitives
import SystemPackage

struct TypesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "types",
        abstract: "Show what type a document has, and look after types.",
        discussion: """
            Types are the desktop's (shared-mime-info): what is declared here counts for all programs. 'quire types PATH' is short for \
            'quire types show PATH'.

            Examples:
              quire types report.odt
              quire types declare sketch.xml
              quire types tree text/plain
              quire types use application/pdf org.kde.okular

            Exit codes: 0 done; 1 failed; 64 the command line is wrong.
            """,
        subcommands: [
            TypesShowCommand.self, TypesDeclareCommand.self, TypesForgetCommand.self, TypesTreeCommand.self, TypesAppsCommand.self, TypesUseCommand.self,
        ],
        defaultSubcommand: TypesShowCommand.self)
}

struct TypesShowCommand: TakesManyPaths {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what type a document has, and who draws it.",
        discussion: """
            The type is the desktop's, by the document's name and, where that says nothing, by how it begins. Below it stand the \
            types that it is also of, the nearest first, and who is asked to draw it, in that order: a program that is described in \
            ~/.local/share/thumbnailers comes before what is built in, and that before the system's programs, of those that are \
            for as near a type.

            With --json: an array of objects with path, type, explanation, ancestors and providers.

            Examples:
              quire types report.odt
              quire types --json *.pdf | jq -r '.[].type'

            Exit codes: 0 shown; 1 a path cannot be read; 64 the command line is wrong.
            """)

    @Argument(help: "Documents or folders.") var paths: [PathArgument]
    @Flag(help: "Write JSON.") var json = false

    struct Report: Encodable {
        let path: String
        let type: String
        let explanation: String
        let ancestors: [String]
        let providers: [String]

        var text: String {
            ([path, "  type       \(type) (\(explanation))"]
                + (ancestors.isEmpty ? [] : ["  also       \(ancestors.joined(separator: ", "))"])
                + ["  drawn by   \(providers.first ?? "nobody")"] + providers.dropFirst().map { "  else       \($0)" })
                .joined(separator: "\n")
        }
    }

    func run() throws {
        let table = ProviderTable()
        var reports: [Report] = []
        var hasFailed = false
        for path in paths {
            do throws(CommandFailure) {
                reports.append(try Self.report(path, table))
            } catch {
                hasFailed = true
                Output.error("quire: \(error.message)")
            }
        }
        if json { Output.json(reports) } else if !reports.isEmpty { Output.lines(reports.map(\.text).joined(separator: "\n\n")) }
        if hasFailed { throw ExitCode.failure }
    }

    private static func report(_ path: PathArgument, _ table: ProviderTable) throws(CommandFailure) -> Report {
        let type: DocumentType
        do throws(Errno) {
            type = try LocalThumbnails.type(of: path.bytes)
        } catch {
            throw CommandFailure("\(path.description): \(error)")
        }
        return Report(
            path: path.description, type: type.name, explanation: type.explanation, ancestors: type.ancestors.map(\.name),
            providers: table.providers(for: type).map(\.description))
    }
}
