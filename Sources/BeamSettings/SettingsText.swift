import CBeamTOML

/// The text of a file of settings: TOML 1.0 (https://toml.io/en/v1.0.0), read by toml++.
public enum SettingsText {
    /// Why a text isn't TOML. `line`: counted from 1.
    public struct Failure: Error, Equatable {
        public var reason: String
        public var line: Int
    }

    /// The file's keys, in the order of their lines.
    public static func entries(of text: [UInt8]) throws(Failure) -> [SettingsEntry] {
        if let line = KeyParts.lineOfTooMany(text) {
            throw Failure(reason: "No setting has a key of more than \(KeyParts.most) parts.", line: line)
        }
        var walk = Walk()
        let isRead = text.withUnsafeBytes { bytes in
            withUnsafeMutablePointer(to: &walk) { walk in
                beam_toml_read(
                    bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, walk,
                    { $0?.assumingMemoryBound(to: Walk.self).pointee.nodes.append(Walk.Node($1!.pointee)) },
                    { $0?.assumingMemoryBound(to: Walk.self).pointee.fail(String(cString: $1!), Int($2)) })
            }
        }
        guard isRead else { throw walk.failure ?? Failure(reason: "It can't be read.", line: 1) }
        var rest = walk.nodes[...]
        return sorted(entries(at: 0, &rest))
    }

    /// What `beam_toml_read` finds.
    private struct Walk {
        struct Node {
            var depth: Int
            var kind: beam_toml_kind
            var line: Int
            var key: String
            var text: String

            init(_ node: beam_toml_node) {
                depth = node.depth
                kind = node.kind
                line = Int(node.line)
                key = Self.string(node.key, node.key_length)
                text = Self.string(node.text, node.text_length)
            }

            private static func string(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> String {
                String(decoding: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count), as: UTF8.self)
            }
        }

        var nodes: [Node] = []
        var failure: Failure?

        /// toml++ quotes what it has found, line ends included.
        mutating func fail(_ reason: String, _ line: Int) {
            failure = Failure(reason: String(reason.filter { !$0.isNewline }), line: line)
        }
    }

    /// Takes all nodes at `depth` and deeper ones from the beginning of `rest`. `KeyParts` and
    /// TOML_MAX_NESTED_VALUES bound the depth.
    private static func entries(at depth: Int, _ rest: inout ArraySlice<Walk.Node>) -> [SettingsEntry] {
        var entries: [SettingsEntry] = []
        while let node = rest.first, node.depth == depth {
            rest.removeFirst()
            let inside = Self.entries(at: depth + 1, &rest)
            let kind: SettingsValue.Kind =
                switch node.kind {
                case BEAM_TOML_TABLE: .table(sorted(inside))
                case BEAM_TOML_ARRAY: .list(inside.map(\.value))
                case BEAM_TOML_TEXT: .text(node.text)
                case BEAM_TOML_NUMBER: .number(node.text)
                case BEAM_TOML_BOOLEAN: .flag(node.text == "true")
                default: .time
                }
            entries.append(SettingsEntry(name: node.key, value: SettingsValue(kind, line: node.line)))
        }
        return entries
    }

    /// toml++ keeps tables sorted by their keys.
    private static func sorted(_ entries: [SettingsEntry]) -> [SettingsEntry] {
        entries.sorted { ($0.value.line, $0.name) < ($1.value.line, $1.name) }
    }
}
