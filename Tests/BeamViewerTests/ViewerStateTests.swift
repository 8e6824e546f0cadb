import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamSession
import Foundation
import Synchronization
import Testing

@testable import BeamViewer

/// The client is made once, by the thread that finds the host first, while other threads use the state.
struct ViewerStateTests {
    private let state = ViewerState(ViewerStatus(connectingTo: "desk"))

    /// A real client that never finds a host. Calls `onLocate` on its event loop.
    private static func makeClient(
        wishes: @escaping @Sendable () -> ViewerWishes = { ViewerWishes() },
        onLocate: @escaping @Sendable () -> Void = {}
    ) throws -> ViewerClient {
        let identity = try LocalIdentity()
        var handlers = ViewerClient.Handlers(
            onEvent: { _ in },
            locate: {
                onLocate()
                return []
            })
        handlers.wishes = wishes
        return ViewerClient(
            identity: identity,
            session: ViewerSession.Configuration(
                trust: ViewerTrust(own: identity.deviceKey, name: "viewer", instance: 1), code: nil,
                allowsUnencrypted: false, announcedVersion: 2),
            handlers: handlers)
    }

    /// Waits for `semaphore`, at most 60 s.
    private static func wait(_ semaphore: DispatchSemaphore) -> Bool {
        semaphore.wait(timeout: .now() + 60) == .success
    }

    @Test func theStateIsNotLockedWhileTheClientIsMade() throws {
        let client = try Self.makeClient()
        let state = state
        state.setClientMaker {
            // Other threads use the state meanwhile: the window draws, the store changes.
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                state.update { $0.status.picking() }
                _ = state.read { $0.status }
                #expect(state.client == nil)
                done.signal()
            }
            #expect(Self.wait(done), "the state is locked while the client is made")
            return client
        }
        state.hostAppeared()
        #expect(state.client === client)
        state.stop()?.shutdown()
    }

    @Test func onlyOneClientIsMade() throws {
        let made = Mutex(0)
        let clients = try (0..<8).map { _ in try Self.makeClient() }
        state.hostAppeared()
        #expect(state.client == nil, "there is no client maker yet")
        let begin = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        for _ in 0..<8 {
            Thread.detachNewThread { [state] in
                begin.wait()
                state.hostAppeared()
                done.signal()
            }
        }
        for _ in 0..<8 { begin.signal() }
        state.setClientMaker {
            clients[
                made.withLock { made in
                    made += 1
                    return made - 1
                }]
        }
        for _ in 0..<8 { #expect(Self.wait(done)) }
        #expect(made.withLock { $0 } == 1)
        #expect(state.client === clients[0])
        _ = state.stop()
        #expect(state.client == nil)
        for client in clients { client.shutdown() }
    }

    @Test func callsWhileTheClientIsMadeRunInOrder() throws {
        let client = try Self.makeClient()
        let order = Mutex<[Int]>([])
        let state = state
        state.tellClient { _ in order.withLock { $0.append(0) } }
        state.setClientMaker {
            for number in 1...3 {
                state.tellClient { told in
                    #expect(told === client && state.client == nil, "earlier calls come first")
                    order.withLock { $0.append(number) }
                }
            }
            return client
        }
        state.hostAppeared()
        state.tellClient { _ in order.withLock { $0.append(4) } }
        // The call before the client was being made is dropped.
        #expect(order.withLock { $0 } == [1, 2, 3, 4])
        state.stop()?.shutdown()
        state.tellClient { _ in order.withLock { $0.append(5) } }
        #expect(order.withLock { $0.count } == 4)
    }

    /// Nothing has to be told to a new client: it asks for what is wished when it begins.
    @Test func theClientAsksForTheWishesOfTheMoment() throws {
        let asked = Mutex<[ViewerWishes]>([])
        let state = state
        state.wish { $0.pictureHold = .milliseconds(5) }
        let client = try Self.makeClient(wishes: {
            let wishes = state.read { $0.wishes }
            asked.withLock { $0.append(wishes) }
            return wishes
        })
        state.setClientMaker {
            state.wish { $0.sound = false }
            return client
        }
        state.hostAppeared()
        // Waits for the client's event loop.
        _ = client.statistics
        state.wish { $0.shownSize = PixelSize(width: 320, height: 180) }
        _ = client.statistics
        let first = ViewerWishes(sound: false, pictureHold: .milliseconds(5))
        var second = first
        second.shownSize = PixelSize(width: 320, height: 180)
        #expect(asked.withLock { $0 } == [first, second])
        state.stop()?.shutdown()
    }

    /// A client does nothing before it begins.
    @Test func aClientThatHasNotBegunLooksForNoHost() throws {
        let looks = Mutex(0)
        let client = try Self.makeClient(onLocate: { looks.withLock { $0 += 1 } })
        client.wishesChanged()
        client.decoderFailed()
        _ = client.statistics
        #expect(looks.withLock { $0 } == 0)
        client.begin()
        _ = client.statistics
        #expect(looks.withLock { $0 } == 1)
        client.shutdown()
    }

    @Test func aClientMadeAfterTheStopIsShutDown() throws {
        let looks = Mutex(0)
        let client = try Self.makeClient(onLocate: { looks.withLock { $0 += 1 } })
        let state = state
        state.setClientMaker {
            #expect(state.stop() == nil)
            return client
        }
        state.hostAppeared()
        #expect(state.client == nil)
        // A running client would look for its host now.
        let before = looks.withLock { $0 }
        client.hostAppeared()
        Thread.sleep(forTimeInterval: 0.3)
        #expect(looks.withLock { $0 } == before)
        state.hostAppeared()
        #expect(state.client == nil)
    }
}
