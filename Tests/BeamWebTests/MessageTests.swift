import BeamMedia
import BeamWire
import Foundation
import Testing

@testable import BeamWeb

struct MessageTests {
    private func read(_ text: String) -> Result<PageMessage, PageMessage.Refusal> {
        do throws(PageMessage.Refusal) {
            return .success(try PageMessage.read(Array(text.utf8)[...]))
        } catch {
            return .failure(error)
        }
    }

    @Test func messagesAreRead() {
        let code = PairingCode("482913")
        #expect(
            read(#"{"t":"hello","v":1,"code":"482913","can":["codecs","webrtc","later"],"w":1280,"later":{"a":[1]}}"#)
                == .success(.hello(code: code, forms: [.units, .packets])))
        #expect(read(#"{"t":"hello","v":1,"can":[],"code":null}"#) == .success(.hello(code: nil, forms: [])))
        #expect(read(#"{"t":"answer","sdp":"v=0\r\n"}"#) == .success(.answer(sdp: "v=0\r\n")))
        #expect(read(#"{"t":"drawn","n":4294967295}"#) == .success(.drawn(.max)))
        #expect(read(#"{"t":"sound","on":true}"#) == .success(.sound(isOn: true)))
        #expect(read(#"{"t":"resume","token":"abc"}"#) == .success(.resume(token: "abc")))
        #expect(read(#"{"t":"pong"}"#) == .success(.pong))
    }

    @Test(arguments: [
        ("", PageMessage.Refusal.notJSON), ("[]", .notJSON), ("{}", .notJSON), (#"{"t":1}"#, .notJSON),
        (#"{"t":"pong"}}"#, .notJSON), (#"{"t":"offer"}"#, .unknownType), (#"{"t":"hello","can":[]}"#, .version),
        (#"{"t":"hello","v":2,"can":[]}"#, .version), (#"{"t":"hello","v":"1","can":[]}"#, .version),
        (#"{"t":"hello","v":1}"#, .badField), (#"{"t":"hello","v":1,"can":"webrtc"}"#, .badField),
        (#"{"t":"hello","v":1,"can":[1]}"#, .badField),
        (#"{"t":"hello","v":1,"can":["webrtc"],"code":482913}"#, .badField),
        (#"{"t":"hello","v":1,"can":["a","a","a","a","a","a","a","a","a"]}"#, .badField),
        (#"{"t":"hello","v":1,"can":["webrtc"],"code":"48291"}"#, .badField), (#"{"t":"answer"}"#, .badField),
        (#"{"t":"sound"}"#, .badField), (#"{"t":"sound","on":1}"#, .badField), (#"{"t":"drawn","n":-1}"#, .badField),
        (#"{"t":"drawn","n":4294967296}"#, .badField),
        (#"{"t":"drawn","n":1e400}"#, .badField), (#"{"t":"drawn","n":0.5}"#, .badField),
        (#"{"t":"resume"}"#, .badField), (#"{"t":"watching"}"#, .badField),
    ])
    func whatThePageDoesNotSendIsRefused(_ text: String, _ refusal: PageMessage.Refusal) {
        #expect(read(text) == .failure(refusal))
    }

    @Test func hostMessagesAreJSON() throws {
        func text(_ message: HostMessage) -> String { String(decoding: message.bytes, as: UTF8.self) }
        #expect(text(.no(pause: .milliseconds(1500))) == #"{"pause":2,"t":"no"}"#)
        #expect(text(.no(pause: nil)) == #"{"t":"no"}"#)
        #expect(text(.offer(sdp: "v=0\r\n")) == #"{"sdp":"v=0\r\n","t":"offer"}"#)
        #expect(text(.notice(.sourceVisibility(.monitorOff))) == #"{"t":"visibility","what":"monitorOff"}"#)
        #expect(text(.notice(.note(sender: nil, "a\"<b"))) == #"{"from":null,"t":"note","text":"a\"<b"}"#)
        #expect(text(.refused(.sentAway, reason: "Away")) == #"{"reason":"Away","t":"kicked","why":"sentAway"}"#)
        #expect(
            text(.stream(codec: "avc1.4dc02a", description: [1, 2], PixelSize(width: 3, height: 4), sound: true))
                == #"{"codec":"avc1.4dc02a","description":"AQI=","h":4,"sound":true,"t":"stream","w":3}"#)
    }

    @Test(arguments: [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36",
            "Chrome on Android"
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36 Edg/156.0",
            "Edge on Windows"
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 26_1 like Mac OS X) AppleWebKit/605.1.15 Version/26.1 Safari/604.1",
            "Safari on iPhone"
        ),
        ("curl/8", "Browser"), ("", "Browser"), ("\u{1B}[2J Linux", "Browser on Linux"),
    ])
    func browsersAreNamed(_ agent: String, _ name: String) {
        #expect(BrowserKind.name(agent: agent) == name)
    }
}
