import Foundation
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct JSONScannerTests {
    private func scan(_ text: String) -> [String: JSONScanner.Member]? {
        try? JSONScanner.object(Array(text.utf8)[...])
    }

    private func isJSON(_ text: String) -> Bool { isJSON(Array(text.utf8)) }

    private func isJSON(_ text: [UInt8]) -> Bool {
        do {
            _ = try JSONScanner.object(text[...])
            return true
        } catch {
            return false
        }
    }

    @Test func valuesAreRead() {
        let text = """
            { "a":true,"b" : false, "c":null,"d":-12 ,"e":"x\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00y", "f":[1,{"a":[]}],
            "g":{"a":7},"":0 ,"h":1.5,"i":2e3,"j":99999999999999999999,"a":1}
            """
        #expect(
            scan(text) == [
                "a": .number(1), "b": .bool(false), "c": .null, "d": .number(-12),
                "e": .string("x\"\\/\u{8}\u{C}\n\r\té😀y"), "f": .nested, "g": .nested, "": .number(0),
                "h": .number(nil), "i": .number(2000), "j": .number(nil),
            ])
    }

    @Test(arguments: [
        "{}", " [ ] ", "0", "-0", "0.5", "1E+2", "1e-2", "\"\"", "null", "[1,[2,[3]],{\"a\":{}}]", "{\"a\":{\"b\":[]}}",
        "\"\\uD834\\uDD1E\"", "\"\u{7F}\"",
    ])
    func validJSONIsAccepted(_ text: String) { #expect(isJSON(text)) }

    @Test(arguments: [
        "", " ", "{", "}", "[", "]", "{]", "[}", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
        "{'a':1}", "{\"a\":1}}", "{\"a\":1} x", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "Infinity",
        "tru", "True", "nul", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u+123\"", "\"\\ud834\"",
        "\"\\ud834\\u0041\"", "\"\\udd1e\"", "\"a\nb\"", "\"\t\"", "\u{FEFF}{}", "// x\n{}",
    ])
    func invalidJSONIsRefused(_ text: String) { #expect(!isJSON(text)) }

    @Test func nestingIsBounded() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(isJSON(nested(32)))
        #expect(!isJSON(nested(33)))
        for depth in 500...530 { #expect(!isJSON(String(repeating: "[", count: depth))) }
        #expect(isJSON(#"{"a":"# + nested(31) + "}"))
        #expect(!isJSON(#"{"a":"# + nested(32) + "}"))
    }

    /// Foundation's parser agrees, on inputs for which it doesn't trap.
    @Test func theScannerAgreesWithFoundation() {
        let golden =
            ControlMessageTests.golden.map { Array($0.1.utf8) } + [
                Array(#"{"a":[1,2.5e-3,{"b":"c\u00e9"}],"d":-0}"#.utf8)
            ]
        for seed in Fuzzing.seeds(10_000) {
            var mutator = Mutator(seed: seed)
            let input = mutator.mutate(golden.randomElement(using: &mutator.random) ?? [], with: golden)
            let text = String(decoding: input, as: UTF8.self)
            // Foundation guesses encodings, accepts a trailing comma, and refuses numbers beyond a double.
            guard String(validating: input, as: UTF8.self) != nil, !input.contains(0), input.first != 0xEF,
                text.range(of: #",\s*[}\]]|[0-9][eE][+-]?[0-9]{3}|[0-9]{300}"#, options: .regularExpression) == nil
            else { continue }
            let ours = isJSON(input)
            let theirs = (try? JSONSerialization.jsonObject(with: Data(input), options: .fragmentsAllowed)) != nil
            #expect(ours == theirs, "seed \(seed): \(text)")
        }
    }
}
