import ArgumentParser
import BeamDesktop
import BeamDisplay
import BeamMedia
import BeamTerminal
import BeamTrust
import BeamViewer
import Foundation
import Glibc

/// `beamroom watch --wait`: a receiver, which shows the screens of those who send them.
extension WatchCommand {
    /// What makes no sense at a receiver.
    func checkReceiver() throws {
        guard receiver.wait else { return }
        let others: [(option: String, isUsed: Bool, reason: String)] = [
            ("A host", !hosts.isEmpty, "a receiver watches whoever sends"),
            ("--auto", auto != nil, "a receiver watches whoever sends"),
            ("--code", code.code != nil, "a receiver shows a code of its own"),
            ("--code-file", code.codeFile != nil, "a receiver shows a code of its own"),
            ("--new-host", newHost, "it is about a host at an address"),
            ("--record", record != nil, "a recording has one host's stream"),
            ("--frames", frames != nil, "the file has one host's pictures"),
            ("--sound", sound != nil, "the file has one host's sound"),
            ("--transcript", transcript != nil, "a transcript is of one host's room"),
            ("--camera", camera.camera != nil, "a camera has one host's pictures"),
            ("--v4l2", camera.v4l2 != nil, "a camera has one host's pictures"),
            ("--allow-unencrypted", versions.allowUnencrypted, "whoever sends has to prove its key"),
        ]
        if let bad = others.first(where: \.isUsed) {
            throw ValidationError("\(bad.option) doesn't go together with --wait: \(bad.reason). Leave it out.")
        }
        if receiver.windowed, playback.fullscreen || playback.noWindow {
            throw ValidationError("--windowed opens a window that doesn't fill the screen: leave the other one out.")
        }
    }

    func waitForSenders(_ context: CommandContext, _ reload: SettingsReload) throws {
        let desk = QuestionDesk(context.console, programs: context.programs)
        let shownName = ShownText.line(name ?? MachineName.current)
        let takesCode = !playback.noWindow || context.console.isTerminal
        let reporter = StationReporter(
            context, name: shownName, hasWindow: !playback.noWindow, takesCode: takesCode, desk: desk)
        let station: Station
        do {
            station = try Station(stationOptions(shownName, takesCode: takesCode)) { reporter.handle($0) }
        } catch {
            return try context.conclude(.failed("\(error)"))
        }
        context.actions.connect(ProgramActions.Handlers(write: { station.write($0) }))
        desk.readPrograms()
        let ticker = EverySecond { reporter.tick(station) }
        /// Ends what runs, and says how it went. On the thread that it is called on.
        @Sendable func finish(_ ending: Ending) throws {
            ticker.cancel()
            station.stop()
            context.console.finish()
            try context.conclude(ending)
        }
        try finish(run(station, reporter, context, reload, finish: finish))
    }

    private func run(
        _ station: Station, _ reporter: StationReporter, _ context: CommandContext, _ reload: SettingsReload,
        finish: @escaping @Sendable (Ending) throws -> Void
    ) -> Ending {
        /// Senders may come.
        func begin() {
            do {
                reporter.ready(port: try station.start(), bindAddress: receiver.bind)
                reload.connect(Self.reloadable(station, reporter, context))
            } catch {
                context.latch.end(.failed("\(error)"))
            }
        }
        // The command runs on the main thread, as SDL requires for a window.
        return MainActor.assumeIsolated {
            guard let options = stationWindow else {
                begin()
                return context.latch.wait()
            }
            do throws(DisplayError) {
                guard try waitForDisplay(options, context) else { return context.latch.wait() }
                let window = try StationWindow(options, station) { context.endWithoutDisplay(finish) }
                begin()
                context.latch.whenEnded { station.endWindow() }
                window.run()
                context.latch.end(.done)
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            return context.latch.wait()
        }
    }

    /// What changes when the settings are read again.
    private static func reloadable(
        _ station: Station, _ reporter: StationReporter, _ context: CommandContext
    ) -> SettingsReload.Subject {
        SettingsReload.Subject(
            atOnce: ["log-level"], status: { reporter.serviceStatus }, reloadDevices: { station.reloadDevices() }
        ) { command, _ in
            guard let command = command as? WatchCommand else { return }
            context.apply(commands: [:], logLevel: command.common.logLevel)
        }
    }

    /// A receiver may be started with the machine, before its display answers. One that isn't even named won't come.
    ///
    /// - Returns: false if the program is to end.
    @MainActor private func waitForDisplay(
        _ options: WindowOptions, _ context: CommandContext
    ) throws(DisplayError) -> Bool {
        let isNamed =
            display != nil
            || ["DISPLAY", "WAYLAND_DISPLAY"].contains {
                !(ProcessInfo.processInfo.environment[$0] ?? "").isEmpty
            }
        var hasSaid = false
        while context.latch.current == nil {
            do throws(DisplayError) {
                try StationWindow.prepare(options)
                return true
            } catch {
                guard isNamed else { throw error }
                if !hasSaid { context.say("\(error) It is tried again every second. Ctrl-C ends.") }
                hasSaid = true
                ServiceManager.current?.show("Waiting for the display")
            }
            // Signals are taken by another thread.
            usleep(1_000_000)
        }
        return false
    }

    private func stationOptions(_ name: String, takesCode: Bool) throws -> Station.Options {
        let store = try TrustStore()
        var viewing = ViewerOptions(
            target: .anyHost, trust: ViewerOptions.Trust(store: store, deviceName: name), window: stationWindow,
            decoder: playback.videoDecoder, buffer: playback.buffer.duration)
        viewing.bounds = playback.bounds
        viewing.usesBluetooth = false
        viewing.sound = playback.sound
        viewing.quality = quality.wish
        return Station.Options(
            name: name, store: store, bindAddress: receiver.bind, port: receiver.port ?? StationWindow.usualPort,
            showsCode: takesCode, remembersSenders: !once, isAnnounced: !receiver.noDiscovery, viewing: viewing)
    }

    /// Nil: no window.
    private var stationWindow: WindowOptions? {
        var window = windowOptions
        window?.isFullscreen = !receiver.windowed
        window?.hintsKeys = false
        return window
    }
}
