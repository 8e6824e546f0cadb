import Foundation
import Testing

/// Names that could be addresses, and addresses of every kind, between two machines on one cable.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct NameTests {
        /// What `hosts` prints can be typed back.
        @Test(arguments: ["node1.cluster.example", "desk.v2", "room:3", "Anna: office", "2.0"])
        func aNameThatLooksLikeAnAddressIsWatched(_ name: String) throws {
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let host = try desk.share(name: name)
            defer { host.end() }
            #expect(try eventually(timeout: 30) { try sofa.hosts().map { $0.string("name") } == [name] })
            let viewer = try sofa.watch([name])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(viewer.events("paired").first?.string("name") == name)
            expectPlainWords(viewer.errorText)
        }

        /// The system has no nss-mdns in the tests, so that only Avahi can resolve the name.
        @Test func theMachinesOwnNameAndAddressesOfAllKindsAreWatched() throws {
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let host = try desk.share(name: "Desk", ["--no-discovery"])
            defer { host.end() }
            let ways = [
                "beam-machine-1.local", "BEAM-machine-1.local:52345", "beam-machine-1.local.", "10.77.0.1",
                "10.77.0.1:52345", "fe80::1%lan0", "[fe80::1%lan0]:52345", "[::ffff:10.77.0.1]:52345",
            ]
            for way in ways {
                let viewer = try sofa.watch([way])
                defer { viewer.end() }
                let first = try viewer.waitFor("first-frame")
                report("watch \(way), first frame after the start", "\((first.number("ms") ?? 0).short) ms")
            }
        }

        @Test func aRoomIsEnteredThroughAMachinesOwnName() throws {
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let room = ["--json", "--no-watch", "--time-limit", "60", "--no-discovery"]
            let first = try desk.start(["room", "lab", "--accept", "all", "--name", "Desk"] + room)
            defer { first.end() }
            try first.waitFor("ready")
            let second = try sofa.start(["room", "lab", "--at", "beam-machine-1.local", "--name", "Sofa"] + room)
            defer { second.end() }
            #expect(try second.waitFor("ready").string("room") == "lab")
        }

        @Test func whatIsNotFoundSaysWhatWasTried() throws {
            let machine = try PrivateMachine()
            let tries: [(name: String, words: [String])] = [
                ("nosuch.local:5000", ["No host of that name is announced", "nosuch.local:5000", "“nosuch.local”"]),
                ("10.77.0.99", ["10.77.0.99:52345: no machine answers at that address."]),
                ("192.0.2.99", ["192.0.2.99:52345: this machine has no way to that network."]),
                ("192.0.2", ["isn't an IPv4 address", "called “192.0.2” is looked for"]),
                ("room:0", ["0 isn't a port", "called “room:0” is looked for"]),
            ]
            for (name, words) in tries {
                let viewer = try machine.watch([name])
                defer { viewer.end() }
                for word in words { try viewer.waitForWords(word) }
                #expect(viewer.isRunning, "it may still come")
                expectPlainWords(viewer.errorText)
            }
        }

        /// The name of a paired host is that host, although nothing announces it and the name could be an address.
        @Test func aPairedHostIsKnownByANameWithADot() throws {
            let (deskState, sofaState) = (try Machine(), try Machine())
            let desk = try PrivateMachine()
            let sofa = try PrivateMachine(beside: desk)
            let announced = try desk.share(name: "desk.v2", ["--code", "482913"], accept: nil, as: deskState)
            defer { announced.end() }
            let first = try sofa.watch(["desk.v2", "--code", "482913"], as: sofaState)
            defer { first.end() }
            try first.waitFor("device-paired")
            first.interrupt()
            announced.interrupt()
            _ = try (first.waitForEnd(), announced.waitForEnd())

            let silent = try desk.share(
                name: "desk.v2", ["--trusted-only", "--no-discovery"], accept: nil, as: deskState)
            defer { silent.end() }
            let again = try sofa.watch(["desk.v2"], as: sofaState)
            defer { again.end() }
            try again.waitFor("first-frame")
        }
    }
}
