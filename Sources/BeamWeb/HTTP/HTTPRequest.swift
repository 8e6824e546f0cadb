/// A request of HTTP/1.1 without a body (RFC 9112): all that a page and its WebSocket need.
struct HTTPRequest: Equatable {
    enum Reading: Equatable {
        case needsMore
        /// `length`: the bytes that it took.
        case request(HTTPRequest, length: Int)
        case refused(HTTPStatus)
    }

    /// The request line and all headers, in bytes.
    static let mostBytes = 16 << 10
    static let mostHeaders = 64

    let method: String
    let target: String
    /// Names in lower case.
    let headers: [(name: String, value: String)]

    /// Nil if there is none, or several.
    func value(_ name: String) -> String? {
        let found = headers.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }

    /// Whether a comma-separated list has this element, in whatever case (RFC 9110, 5.6.1).
    func list(_ name: String, contains element: String) -> Bool {
        headers.contains { header in
            header.name == name
                && header.value.split(separator: ",").contains { $0.trimmingSpaces.lowercased() == element }
        }
    }

    static func == (a: HTTPRequest, b: HTTPRequest) -> Bool {
        a.method == b.method && a.target == b.target && a.headers.elementsEqual(b.headers, by: ==)
    }

    // MARK: Reading

    static func read(_ bytes: some RandomAccessCollection<UInt8>) -> Reading {
        let bytes = Array(bytes.prefix(mostBytes + 1))
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        // Some clients send an empty line before the request (2.2); a browser doesn't.
        while let end = bytes[start...].firstIndex(of: lineFeed) {
            guard end > start, bytes[end - 1] == carriageReturn else { return .refused(.badRequest) }
            let line = bytes[start..<end - 1]
            start = end + 1
            guard start <= mostBytes else { return .refused(.headersTooLarge) }
            if line.isEmpty {
                guard let request = request(lines) else { return .refused(.badRequest) }
                return .request(request, length: start)
            }
            guard lines.count <= mostHeaders else { return .refused(.headersTooLarge) }
            lines.append(line)
        }
        // What can't become a request isn't waited for.
        if let first = bytes.first, !(0x41...0x5A).contains(first) { return .refused(.badRequest) }
        return bytes.count > mostBytes ? .refused(.headersTooLarge) : .needsMore
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private static func request(_ lines: [ArraySlice<UInt8>]) -> HTTPRequest? {
        guard let first = lines.first else { return nil }
        let parts = first.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isVisible) }),
            parts[0].allSatisfy(isTokenByte), parts[2].elementsEqual("HTTP/1.1".utf8)
        else { return nil }
        var headers: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = line[..<colon]
            let value = line[(colon + 1)...]
            // No blank before the colon, and no folded lines (5.1, 5.2).
            guard !name.isEmpty, name.allSatisfy(isTokenByte), value.allSatisfy({ isVisible($0) || isBlank($0) }) else {
                return nil
            }
            headers.append((text(name).lowercased(), text(value).trimmingSpaces))
        }
        let request = HTTPRequest(method: text(parts[0]), target: text(parts[1]), headers: headers)
        // A body would be taken for the next request.
        guard !headers.contains(where: { $0.name == "transfer-encoding" }),
            headers.allSatisfy({ $0.name != "content-length" || $0.value == "0" })
        else { return nil }
        return request
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    /// Printable ASCII but the blank; names in a browser's languages are encoded in it.
    private static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    /// RFC 9110, 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension StringProtocol {
    /// Without blanks and tabs at its ends.
    var trimmingSpaces: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return ""
        }
        return String(self[first...last])
    }
}
