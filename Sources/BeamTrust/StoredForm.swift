import Foundation

/// The encoding of the store's files: human-readable JSON.
enum StoredForm {
    /// - Parameter form: strings, integers, and lists and objects of them, for which encoding can't fail.
    static func bytes(_ form: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(form) else {
            preconditionFailure("strings and integers always have a JSON form")
        }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}
