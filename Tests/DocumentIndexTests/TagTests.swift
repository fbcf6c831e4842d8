import DocumentIndex
import struct DocumentIndex.Tag
import StorePrimitives
import Testing

@Suite struct TagTests {
    @Test(arguments: [
        ("urgent", "urgent"), ("  two words\t", "two words"), ("work/urgent", "work/urgent"), ("é", "é"), ("...", "..."),
        ("a+b", "a+b"), (".hidden", ".hidden"),
    ])
    func textThatNamesATagIsTrimmed(text: String, name: String) { #expect(Tag(text)?.text == name) }

    @Test(arguments: ["", "  ", "a,b", "a\0b", "/a", "a/", "a//b", ".", "..", "a/../b", "a/."])
    func textThatNamesNoTagIsRefused(text: String) { #expect(Tag(text) == nil) }

    @Test func aComponentHasAtMost255Bytes() {
        let longest = String(repeating: "x", count: 255)
        #expect(Tag("a/" + longest) != nil)
        #expect(Tag("a/x" + longest) == nil)
    }

    @Test func bytesThatAreNoUTF8AreNoTag() { #expect(Tag([0x61, 0xFF]) == nil) }

    @Test func twoUnicodeFormsAreTwoTags() { #expect(Tag("e\u{301}") != Tag("\u{E9}")) }

    @Test func nestingIsByWholeComponents() {
        #expect(tag("work/urgent").isNested(in: tag("work")))
        #expect(!tag("workers").isNested(in: tag("work")))
        #expect(!tag("work").isNested(in: tag("work")))
        #expect(tag("work/urgent").parent == tag("work"))
        #expect(tag("work").parent == nil)
        #expect(tag("work").appending(EntryName("urgent")) == tag("work/urgent"))
        #expect(tag("work").appending(EntryName("a,b")) == nil)
        #expect(tag("work").appending(EntryName(" a")) == nil)
    }

    @Test func renamingATagRenamesTheNestedOnes() {
        #expect(tag("work/urgent").renamed(from: tag("work"), to: tag("a/b")) == tag("a/b/urgent"))
        #expect(tag("work").renamed(from: tag("work"), to: tag("job")) == tag("job"))
        #expect(tag("workers").renamed(from: tag("work"), to: tag("job")) == nil)
    }

    @Test func theAttributeIsParsedInItsOrderWithoutDuplicates() {
        #expect(Tag.parse(" b , a,b,,a//c, work/urgent ".utf8).map(\.text) == ["b", "a", "work/urgent"])
        #expect(Tag.parse([]) == [])
    }

    @Test func formattingIsReadBackAsItWas() {
        let tags = ["b", "a", "two words"].map(tag)
        #expect(Tag.format(tags) == Array("b,a,two words".utf8))
        #expect(Tag.format(tags + tags) == Tag.format(tags))
        #expect(Tag.parse(Tag.format(tags)) == tags)
        #expect(Tag.format([]) == [])
    }

    @Test func partsOfTheAttributeThatAreNoTagsAreKept() {
        #expect(Tag.format([tag("x")], keeping: "a, b//c ,,/d".utf8) == Array("x,b//c,/d".utf8))
    }
}
