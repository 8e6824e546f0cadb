import BeamMedia
import Foundation
import Testing

struct JSONValueTests {
    private func text(_ value: JSONValue) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test func valuesAreEncodedAndDecoded() throws {
        let value = JSONValue.object([
            "a": .array([.null, .bool(true), .number(1.5), .string("é\n\"")]), "b": .object([:]),
            "c": .integer(1 << 53),
        ])
        let text = try text(value)
        #expect(text == #"{"a":[null,true,1.5,"é\n\""],"b":{},"c":9007199254740992}"#)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
    }

    @Test func wholeNumbersHaveNoFraction() throws {
        #expect(try text(.array([.number(3), .integer(0), .number(-60)])) == "[3,0,-60]")
    }

    @Test func accessorsReturnOnlyTheirType() {
        let object = JSONValue.object(["n": .number(2), "b": .bool(false)])
        #expect(object["n"]?.number == 2 && object["b"]?.bool == false && object["none"] == nil)
        #expect(object["n"]?.string == nil && object["b"]?.number == nil && JSONValue.null.array == nil)
        #expect(JSONValue.array([.null])["n"] == nil)
    }
}
