import ArgumentParser

/// `quire help`: shows a topic, or what `--help` shows of a command; both where a command has a topic's name.
struct HelpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "help",
        abstract: "Show a topic, or how a command is used.",
        discussion: """
            Topics:
            \(HelpTopic.list)

            Examples:
              quire help saves
              quire help tag add

            Exit codes: 0 shown; 64 there is no such topic or command.
            """)

    @Argument(help: "A topic, or a command.") var subject: [String] = []

    func run() throws {
        guard !subject.isEmpty else { return Output.lines(QuireCommand.helpMessage(for: Self.self)) }
        let topic = subject.count == 1 ? HelpTopic.all.first { $0.name == subject.first } : nil
        let command = Self.command(subject)
        guard topic != nil || command != nil else {
            throw ValidationError("\(subject.joined(separator: " ")): no topic or command has this name; 'quire help' lists the topics")
        }
        let texts = [command.map { QuireCommand.helpMessage(for: $0) + "\n" }, topic?.text]
        Output.text(texts.compactMap { $0 }.joined(separator: "\n"))
    }

    /// The command of these names, each a subcommand of the one before.
    private static func command(_ names: [String]) -> (any ParsableCommand.Type)? {
        var command: any ParsableCommand.Type = QuireCommand.self
        for name in names {
            let found = command.configuration.subcommands.first {
                $0.configuration.commandName == name && $0.configuration.shouldDisplay
            }
            guard let found else { return nil }
            command = found
        }
        return command
    }
}
