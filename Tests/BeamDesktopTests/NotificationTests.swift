import Foundation
import Testing

@testable import BeamDesktop

@Suite(.enabled(if: PrivateBus.obstacle == nil, "\(PrivateBus.obstacle ?? "")"))
struct NotificationTests {
    private static let place = DesktopNotifications.Place("question")
    private static let question = DesktopNotifications.Notice(
        title: "<b>Ann</b> asks", text: "<i>Ann & Bob</i>, at 192.0.2.7", textWithoutButtons: "Answer in the terminal.",
        buttons: [
            DesktopNotifications.Notice.Button("yes", label: "Let in"),
            DesktopNotifications.Notice.Button("no", label: "Refuse"),
        ], isQuestion: true)

    private let answers = EventLog<String>()

    private func notifications(_ bus: PrivateBus, reactionTime: Duration = .zero) -> DesktopNotifications {
        DesktopNotifications(bus: bus.address, application: "Test", icon: "test", reactionTime: reactionTime) {
            [answers] place, button in
            answers.add("\(place.name): \(button)")
        }
    }

    private static func shown(_ id: Int, _ title: String, _ text: String, _ buttons: String, urgency: Int) -> String {
        "{\"buttons\":[\(buttons)],\"event\":\"notice\",\"icon\":\"test\",\"id\":\(id),\"text\":\"\(text)\","
            + "\"timeout\":\(urgency == 2 ? 0 : -1),\"title\":\"\(title)\",\"urgency\":\(urgency)}"
    }

    private static let buttons = #""yes","Let in","no","Refuse""#

    @Test func `A button answers, but neither another program nor another button`() throws {
        let bus = try PrivateBus()
        try bus.run("notices('actions', 'body', 'body-markup')")
        let notifications = notifications(bus)
        #expect(notifications.showsButtons(within: .seconds(30)))
        notifications.show(Self.question, in: Self.place)
        // A peer's name is no markup.
        let escaped = "&lt;i&gt;Ann &amp; Bob&lt;/i&gt;, at 192.0.2.7"
        let shown = Self.shown(1, "<b>Ann</b> asks", escaped, Self.buttons, urgency: 2)
        try bus.requests.wait(for: [shown])
        try bus.run("forge('/org/freedesktop/Notifications', NOTICES, 'ActionInvoked', 'us', dbus.UInt32(1), 'yes')")
        try bus.run("press(1, 'maybe'); press(2, 'yes'); press(1, 'no')")
        answers.wait(for: ["question: no"])
        try bus.requests.wait(for: [shown, #"{"event":"closed","id":1}"#])
        notifications.stop()
    }

    @Test func `What is pressed before a person can have read it doesn't answer`() throws {
        let bus = try PrivateBus()
        try bus.run("notices('actions')")
        let notifications = notifications(bus, reactionTime: .seconds(3600))
        notifications.show(Self.question, in: Self.place)
        try bus.requests.wait("the question") { $0.count == 1 }
        // It is shown again.
        try bus.run("press(1, 'yes')")
        try bus.requests.wait("the question again") { $0.count == 2 }
        notifications.stop()
        #expect(answers.all.isEmpty)
    }

    @Test func `A service that comes and goes shows the question each time`() throws {
        let bus = try PrivateBus()
        try bus.run("notices('actions')")
        let notifications = notifications(bus)
        notifications.show(.init(title: "Ann watches"), in: Self.place)
        try bus.requests.wait("the notice") { $0.count == 1 }
        for count in 1...3 {
            try bus.run("drop(NOTICES)")
            notifications.show(Self.question, in: Self.place)
            try bus.run("notices('actions')")
            try bus.requests.wait("question \(count)") { $0.count { $0.contains("Ann</b> asks") } >= count }
        }
        notifications.stop()
    }

    @Test func `A service that comes later shows the question, and the end takes it back`() throws {
        let bus = try PrivateBus()
        let notifications = notifications(bus)
        #expect(!notifications.showsButtons(within: .seconds(30)))
        notifications.show(Self.question, in: Self.place)
        try bus.run("notices('body')")
        // It shows no buttons, and no markup.
        let shown = Self.shown(1, "<b>Ann</b> asks", "Answer in the terminal.", "", urgency: 2)
        try bus.requests.wait(for: [shown])
        #expect(!notifications.showsButtons(within: .seconds(30)))
        notifications.show(.init(title: "Ann watches"), in: DesktopNotifications.Place("audience"))
        try bus.requests.wait("the notice") { $0.count >= 2 }
        // In the question's place, but not by its number, by which it could be answered.
        notifications.show(.init(title: "Bob watches"), in: Self.place)
        try bus.requests.wait("the change") { $0.count >= 4 }
        notifications.show(Self.question, in: DesktopNotifications.Place("another"))
        notifications.stop()
        try bus.requests.wait("the goodbye") { $0.count >= 6 }
        let all = try bus.requests.all
        try #require(all.count == 6)
        #expect(all[1] == Self.shown(2, "Ann watches", "", "", urgency: 1))
        #expect(Set(all[2...3]) == [#"{"event":"closed","id":1}"#, Self.shown(3, "Bob watches", "", "", urgency: 1)])
        #expect(all[4] == Self.shown(4, "<b>Ann</b> asks", "Answer in the terminal.", "", urgency: 2))
        #expect(all[5] == #"{"event":"closed","id":4}"#)
    }
}
