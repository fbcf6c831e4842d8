import HelpTopics

/// A text of `quire help`, in Markdown: a title, a sentence that sums it up, and the rest.
package struct HelpTopic {
    package let name: String
    package let text: String

    /// The paragraph below the title, in one line.
    package var summary: String {
        let paragraph = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().drop { $0.isEmpty }.prefix { !$0.isEmpty }
        return paragraph.joined(separator: " ")
    }

    package static let all: [HelpTopic] = {
        var topics: [HelpTopic] = []
        // Safe: a table of constants, which ends with a topic without a name.
        var topic = help_topics()
        while let name = topic.pointee.name, let text = topic.pointee.text {
            topics.append(HelpTopic(name: String(cString: name), text: String(cString: text)))
            topic += 1
        }
        return topics
    }()

    /// The names, and below each what it is about, in lines of 78 columns: the argument parser breaks lines of 80.
    package static var list: String {
        all.map { topic in
            var (text, column) = ("  " + topic.name, Int.max)
            for word in topic.summary.split(separator: " ") {
                let isNewLine = column > 77 - word.count
                text += (isNewLine ? "\n      " : " ") + word
                column = (isNewLine ? 6 : column + 1) + word.count
            }
            return text
        }.joined(separator: "\n")
    }
}
