import Foundation

/// How the store's files are written: JSON that people can read too.
enum StoredForm {
    /// `form` holds strings, integers and lists and objects of them: what always has a JSON form.
    static func bytes(_ form: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(form) else {
            preconditionFailure("strings and integers always have a JSON form")
        }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}
