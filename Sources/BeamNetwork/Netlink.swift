import Glibc

/// Questions to the kernel about networks, and the parts of its answers (netlink(7), rtnetlink(7)). The answers are about
/// this process's network namespace.
enum Netlink {
    /// Of a message, without its header.
    struct Message: Equatable {
        var type: UInt16
        var content: ArraySlice<UInt8>
    }

    static let headerSize = 16

    // linux/netlink.h
    private static let family: Int32 = 16
    private static let messageError: UInt16 = 2
    private static let messageDone: UInt16 = 3
    private static let request: UInt16 = 0x1
    private static let dump: UInt16 = 0x300
    /// A dump of 256 interfaces takes about 400 KiB.
    private static let mostReads = 64
    /// In bytes. The kernel's parts of a dump take 32 KiB at most.
    private static let bufferSize = 64 << 10

    /// Empty if the kernel doesn't tell.
    ///
    /// - Parameter isDump: asks for all of a table, not for one entry.
    static func ask(_ type: UInt16, _ content: [UInt8], isDump: Bool) -> [Message] {
        let socket = Glibc.socket(family, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return [] }
        defer { close(socket) }
        // The kernel answers at once. This is in case it doesn't.
        var timeout = timeval(tv_sec: 0, tv_usec: 200_000)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let question = message(type, flags: isDump ? request | dump : request, content)
        guard send(socket, question, question.count, 0) == question.count else { return [] }
        var messages: [Message] = []
        var buffer = [UInt8](repeating: 0, count: bufferSize)
        for _ in 0..<(isDump ? mostReads : 1) {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return messages }
            let (part, isLast) = parse(Array(buffer[..<count])[...])
            messages += part
            if isLast { break }
        }
        return messages
    }

    private static func message(_ type: UInt16, flags: UInt16, _ content: [UInt8]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: headerSize) + content
        bytes.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: UInt32(bytes.count), toByteOffset: 0, as: UInt32.self)
            bytes.storeBytes(of: type, toByteOffset: 4, as: UInt16.self)
            bytes.storeBytes(of: flags, toByteOffset: 6, as: UInt16.self)
        }
        return bytes
    }

    /// The messages of one part of an answer, and whether it is the last part.
    static func parse(_ bytes: ArraySlice<UInt8>) -> (messages: [Message], isLast: Bool) {
        var messages: [Message] = []
        var rest = bytes
        while rest.count >= headerSize {
            let length = Int(word(rest, 0))
            guard length >= headerSize, length <= rest.count else { break }
            let type = half(rest, 4)
            if type == messageDone || type == messageError { return (messages, true) }
            messages.append(Message(type: type, content: rest.prefix(length).dropFirst(headerSize)))
            rest = rest.dropFirst(aligned(length))
        }
        return (messages, false)
    }

    // MARK: Attributes

    static func attributes(_ bytes: ArraySlice<UInt8>) -> [(type: UInt16, value: ArraySlice<UInt8>)] {
        var found: [(UInt16, ArraySlice<UInt8>)] = []
        var rest = bytes
        while rest.count >= 4 {
            let length = Int(half(rest, 0))
            guard length >= 4, length <= rest.count else { break }
            // The two highest bits are flags.
            found.append((half(rest, 2) & 0x3FFF, rest.prefix(length).dropFirst(4)))
            rest = rest.dropFirst(aligned(length))
        }
        return found
    }

    /// For a question. `value`: a multiple of four bytes.
    static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt16(4 + value.count)) { Array($0) } + withUnsafeBytes(of: type) { Array($0) } + value
    }

    private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// In the machine's byte order.
    static func word(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }

    static func half(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt16 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self) }
    }
}
