import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension DeviceKey {
    fileprivate static let other = DeviceKey([UInt8](repeating: 0xC0, count: length))!
}

/// A receiver, and what each step on the way to its screen gives to whoever goes no further.
struct StationSessionTests {
    private static let code = PairingCode("482913")!
    private static let name = "Hall"

    /// A receiver, and connections to it.
    private struct Bench {
        var session: StationSession
        var now = MediaTime.zero
        var states: [StationSession.State] = []
        var ends: [StationSession.End] = []
        var busy: [DeviceKey] = []
        var watched: [(number: Int, device: DeviceKey, port: UInt16)] = []
        var unwatched: [Int] = []
        var paired: [DeviceKey] = []
        var closed: Set<ConnectionID> = []
        private var messages: [ConnectionID: [SecureMessage]] = [:]
        private var deadline = MediaTime.distantFuture
        private var lastConnection: UInt64 = 0

        /// - Parameter known: these needn't type the code.
        init(known: [DeviceKey] = [], remembers: Bool = true) {
            let trust = HostTrust(
                own: .host, remembered: Dictionary(uniqueKeysWithValues: known.map { ($0, "known") }),
                code: HostCode(given: StationSessionTests.code), remembersNewViewers: remembers)
            session = StationSession(
                configuration: Door.Configuration(
                    acceptance: .none, deviceName: StationSessionTests.name, trust: trust),
                random: SeededGenerator(seed: 1))
            session.mediaPortChanged(50_000)
            drain()
        }

        mutating func handle(_ input: StationSession.Input) {
            session.handle(input, now: now)
            drain()
        }

        private mutating func drain() {
            while true {
                switch session.pollOutput(now: now) {
                case .send(let id, let bytes):
                    messages[id, default: []] += (try? SecureMessage(bytes)).map { [$0] } ?? []
                case .close(let id): closed.insert(id)
                case .event(.devicePaired(let device, _, _)): paired.append(device)
                case .event: break
                case .state(let state): states.append(state)
                case .ended(_, let end): ends.append(end)
                case .busy(let sender): busy.append(sender.device)
                case .watch(let number, let sender, _, let port): watched.append((number, sender.device, port))
                case .unwatch(let number): unwatched.append(number)
                case .wait(let until): return deadline = until
                }
            }
        }

        mutating func advance(by duration: Duration) {
            let end = now + duration
            while deadline <= end {
                now = max(now, deadline)
                drain()
            }
            now = end
        }

        mutating func say(_ message: SecureMessage, on id: ConnectionID) {
            handle(.door(.connectionMessage(id, message.bytes)))
        }

        /// What was said on the connection since the last call.
        mutating func heard(on id: ConnectionID) -> [SecureMessage] { messages.removeValue(forKey: id) ?? [] }

        mutating func refusal(on id: ConnectionID) -> SecureMessage.Refusal? {
            heard(on: id).lazy.compactMap { if case .refused(let refusal, _) = $0 { refusal } else { nil } }.first
        }

        /// Connects, and says hello.
        mutating func connect(
            _ device: DeviceKey, features: SecureMessage.Hello.Features = [.offersScreen, .replacedCodes]
        ) -> ConnectionID {
            lastConnection += 1
            let id = ConnectionID(lastConnection)
            handle(.door(.connectionOpened(id, from: HostBench.viewer)))
            handle(.door(.connectionSecured(id, device)))
            say(.hello(SecureMessage.Hello(features: features, instance: lastConnection, name: "sofa")), on: id)
            return id
        }

        /// Types a code. Returns whether both have proved it.
        mutating func prove(_ code: PairingCode, _ device: DeviceKey, on id: ConnectionID) throws -> Bool {
            let said = heard(on: id)
            let welcome = try #require(
                said.lazy.compactMap { if case .welcome(let welcome) = $0 { welcome } else { nil } }.first)
            let viewer = try CPaceViewer(
                code: code,
                context: PairingContext(
                    viewer: device, host: .host, nonce: welcome.nonce, viewerName: "sofa", hostName: welcome.name))
            say(.codeShare(viewer.share), on: id)
            guard case .codeShare(let share)? = heard(on: id).first else { return false }
            let confirmed = try viewer.confirm(hostShare: share)
            say(.codeConfirm(confirmed.confirmation), on: id)
            return messages[id, default: []].contains {
                if case .codeConfirm(let tag) = $0 { confirmed.verify(tag) } else { false }
            }
        }

        /// A known device comes, and is awaited.
        mutating func come(_ device: DeviceKey) -> ConnectionID {
            let id = connect(device)
            say(.join, on: id)
            return id
        }

        /// The same, and its screen is shown.
        mutating func show(_ device: DeviceKey) -> ConnectionID {
            let id = come(device)
            say(.screenOffered(port: 1234), on: id)
            handle(.report(watched.last?.number ?? 0, .connected))
            return id
        }
    }

    @Test func whoeverTypesTheCodeIsShownAndAnotherCodeFollows() throws {
        var bench = Bench()
        #expect(bench.states == [.waiting(code: Self.code)])
        let id = bench.connect(.viewer)
        #expect(try bench.prove(Self.code, .viewer, on: id))
        bench.say(.join, on: id)
        #expect(bench.heard(on: id).contains(.screenAwaited) && bench.paired == [.viewer])
        #expect(bench.watched.isEmpty, "nothing is dialled before the offer")
        bench.say(.screenOffered(port: 1234), on: id)
        #expect(bench.watched.map(\.port) == [1234] && bench.watched.map(\.device) == [.viewer])
        #expect(bench.closed.isEmpty, "the sender is told if it can't be reached")
        bench.handle(.report(1, .connected))
        #expect(bench.closed == [id])
        bench.handle(.report(1, .ended))
        #expect(bench.ends == [.sender] && bench.unwatched == [1])
        guard case .waiting(let next?)? = bench.states.last else { return #expect(Bool(false), "\(bench.states)") }
        #expect(next != Self.code)
    }

    @Test func aWrongCodeShowsNothingAndCounts() throws {
        var bench = Bench()
        for _ in 0..<5 {
            let id = bench.connect(.viewer)
            #expect(try !bench.prove(PairingCode("000000")!, .viewer, on: id))
            #expect(bench.refusal(on: id) == .wrongCode)
            bench.say(.join, on: id)
            bench.say(.screenOffered(port: 1234), on: id)
        }
        #expect(bench.watched.isEmpty && bench.states.count == 1 && bench.paired.isEmpty)
        // The next one waits, with the right code, too.
        let id = bench.connect(.viewer)
        #expect(try !bench.prove(Self.code, .viewer, on: id))
    }

    /// An unknown device that offers without a proof gets no answer; one that stops anywhere holds nothing.
    @Test func withoutAProofNothingIsShownOrHeld() {
        var bench = Bench(known: [.viewer])
        let silent = bench.connect(.other)
        let pushy = bench.connect(.other)
        bench.say(.join, on: pushy)
        bench.say(.screenOffered(port: 1234), on: pushy)
        #expect(bench.watched.isEmpty && bench.states.count == 1)
        bench.advance(by: HostLimits.admissionTimeout)
        #expect(bench.closed.isSuperset(of: [silent, pushy]))
        // Nobody else was kept from coming.
        let known = bench.come(.viewer)
        #expect(bench.heard(on: known).contains(.screenAwaited))
    }

    @Test func viewersAreNotLetInNorSendersAtAHost() {
        var bench = Bench(known: [.viewer])
        let id = bench.connect(.viewer, features: [])
        #expect(bench.refusal(on: id) == .other && bench.states.count == 1)
        var host = DoorSession(
            configuration: Door.Configuration(
                acceptance: .all, trust: HostTrust(own: .host, remembered: [.viewer: "v"], code: .none)),
            random: SeededGenerator(seed: 1))
        host.handle(.connectionOpened(id, from: HostBench.viewer), now: .zero)
        host.handle(.connectionSecured(id, .viewer), now: .zero)
        let hello = SecureMessage.Hello(features: .offersScreen, instance: 1, name: "sofa")
        host.handle(.connectionMessage(id, SecureMessage.hello(hello).bytes), now: .zero)
        host.handle(.connectionMessage(id, SecureMessage.join.bytes), now: .zero)
        #expect(host.guests.isEmpty)
    }

    @Test func aSecondSenderIsToldThatItIsBusy() throws {
        var bench = Bench(known: [.viewer, .other])
        _ = bench.show(.viewer)
        let second = bench.come(.other)
        #expect(bench.refusal(on: second) == .busy && bench.busy == [.other] && bench.closed.contains(second))
        // The code isn't tried meanwhile, and whoever is unknown isn't told of by name.
        let stranger = bench.connect(DeviceKey([UInt8](repeating: 9, count: 32))!)
        let said = bench.heard(on: stranger)
        #expect(said == [.refused(.other, StationSession.busy)], "\(said)")
        #expect(bench.watched.count == 1 && bench.unwatched.isEmpty && bench.ends.isEmpty)
        bench.handle(.end)
        let again = bench.come(.other)
        #expect(bench.heard(on: again).contains(.screenAwaited))
    }

    @Test func aSenderThatOffersNothingMakesRoom() {
        var bench = Bench(known: [.viewer])
        let id = bench.come(.viewer)
        for _ in 0..<18 {
            bench.advance(by: .seconds(10))
            bench.say(.ping(1), on: id)
        }
        #expect(bench.ends == [.idle] && bench.closed == [id])
    }

    @Test func aSenderThatCannotBeReachedIsToldSo() {
        var bench = Bench(known: [.viewer])
        let id = bench.come(.viewer)
        bench.say(.screenOffered(port: 1), on: id)
        bench.handle(.report(1, .unreached(reason: "no answer")))
        bench.advance(by: StationSession.reachTime)
        #expect(bench.ends == [.unreachable(reason: "no answer")] && bench.unwatched == [1])
        #expect(bench.refusal(on: id) == .other && bench.closed == [id])
    }

    @Test func aLostSenderMayComeBackForAWhile() {
        var bench = Bench(known: [.viewer])
        _ = bench.show(.viewer)
        bench.handle(.report(1, .lost))
        bench.advance(by: StationSession.lostTime - .seconds(1))
        bench.handle(.report(1, .connected))
        bench.advance(by: StationSession.lostTime)
        #expect(bench.ends.isEmpty)
        bench.handle(.report(1, .lost))
        bench.advance(by: StationSession.lostTime)
        #expect(bench.ends == [.lost])
        // What an earlier viewer still reports means nothing.
        _ = bench.show(.viewer)
        bench.handle(.report(1, .ended))
        #expect(bench.ends == [.lost] && bench.watched.count == 2)
    }

    @Test func thePersonHereEndsItAtAnyStep() {
        var bench = Bench(known: [.viewer])
        let awaited = bench.come(.viewer)
        bench.handle(.end)
        #expect(bench.refusal(on: awaited) == .declined && bench.ends == [.person])
        _ = bench.show(.viewer)
        bench.handle(.end)
        #expect(bench.ends == [.person, .person] && bench.unwatched == [1])
        bench.handle(.end)
        #expect(bench.ends.count == 2)
    }

    /// Its program was killed and started again, and the end of the first one wasn't noticed yet.
    @Test func theSameDeviceTakesItsOwnPlace() {
        var bench = Bench(known: [.viewer])
        _ = bench.show(.viewer)
        let second = bench.come(.viewer)
        #expect(bench.ends == [.replaced] && bench.unwatched == [1])
        #expect(bench.heard(on: second).contains(.screenAwaited))
    }

    @Test func whoeverIsNotRememberedTypesTheNextCodeAndTheForgottenOneIsEnded() throws {
        var once = Bench(remembers: false)
        let id = once.connect(.viewer)
        #expect(try once.prove(Self.code, .viewer, on: id))
        once.say(.join, on: id)
        once.say(.screenOffered(port: 1), on: id)
        once.handle(.report(1, .connected))
        once.handle(.report(1, .ended))
        let again = once.come(.viewer)
        #expect(!once.heard(on: again).contains(.screenAwaited))

        var bench = Bench(known: [.viewer])
        _ = bench.show(.viewer)
        bench.handle(.door(.remembered([:])))
        #expect(bench.ends == [.forgotten])
    }

    // MARK: The sender

    private func welcome(_ features: SecureMessage.Welcome.Features, isTrusted: Bool) -> SecureMessage {
        .welcome(
            SecureMessage.Welcome(
                features: features, isTrusted: isTrusted, methods: .code, nonce: [UInt8](repeating: 7, count: 32),
                name: Self.name))
    }

    /// A host in the receiver's place would get a guess at the code by it.
    @Test(arguments: [true, false]) func aSenderProvesNothingToAHostNorAViewerToAReceiver(isSender: Bool) {
        var configuration = ViewerSession.Configuration.secure(knows: false, code: "482913")
        configuration.offersScreen = isSender
        var viewer = ViewerBench(configuration)
        viewer.handle(.controlSecured(.host))
        viewer.say(welcome(isSender ? [] : .receiver, isTrusted: false))
        #expect(viewer.takeMessages().allSatisfy { if case .codeShare = $0 { false } else { true } })
        #expect(viewer.events.contains(.refused(isSender ? .noReceiver : .onlyReceiver)))
    }

    @Test func aSenderOffersOnEachConnectionAndGoesWithTheReceiversGoodbye() {
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.offersScreen = true
        var sender = ViewerBench(configuration)
        func enter() {
            sender.handle(.controlSecured(.host))
            sender.say(
                welcome(.receiver, isTrusted: true),
                .session(
                    SecureMessage.Session(
                        id: [UInt8](repeating: 2, count: 16), mediaPort: 7, isBroadcasting: false,
                        viewerKey: .made(2), mediaKey: .made(1))), .screenAwaited)
        }
        enter()
        #expect(sender.events.last == .screenAwaited)
        #expect(!sender.takeMessages().contains(.screenOffered(port: 9)))
        sender.handle(.offerScreen(port: 9))
        #expect(sender.takeMessages().contains(.screenOffered(port: 9)))
        sender.handle(.controlClosed(reason: "gone"))
        sender.advance(by: .seconds(1))
        enter()
        #expect(sender.takeMessages().contains(.screenOffered(port: 9)))
        _ = sender.take()
        sender.say(.bye(SecureMessage.screenShown))
        sender.advance(by: .seconds(30))
        let said = sender.take()
        #expect(!said.contains { $0.hasSuffix("connect securely") }, "it would take its own place")
    }
}
