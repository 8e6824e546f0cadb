import BeamClock
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// What pages and the door say.
extension WebDriver {
    // MARK: Sockets

    func opened(_ connection: WebConnection) -> PageSocket.Events {
        let page = Page(connection, now: .now)
        pages[page.id] = page
        let id = connection.id
        return PageSocket.Events(
            onMessage: { [unowned self] in
                self.message($0, on: id)
                self.pump()
            },
            onViolation: { [unowned self] reason in
                if let page = self.page(on: id) { self.violated(page, reason) }
            },
            onEnd: { [unowned self] isGoodbye in
                self.socketEnded(id, isGoodbye: isGoodbye)
                self.pump()
            })
    }

    /// The page that this connection is of: it may be one that came again.
    private func page(on connection: ConnectionID) -> Page? {
        let page = pages[firstConnections[connection] ?? connection]
        return page?.connection?.id == connection ? page : nil
    }

    /// Its connection is no longer the page's.
    private func detach(_ page: Page) {
        if let connection = page.connection { firstConnections[connection.id] = nil }
        page.connection = nil
    }

    private func violated(_ page: Page, _ reason: String) {
        handlers.onEvent(.failed(page.id, reason: reason))
        refuse(page, .violation, reason)
    }

    private func socketEnded(_ connection: ConnectionID, isGoodbye: Bool) {
        guard let page = page(on: connection) else { return }
        listener?.close(connection)
        detach(page)
        guard case .admitted(let form) = page.state, page.token != nil, !isGoodbye else { return finish(page) }
        page.lostAt = .now
        if form == .units { stream.remove(page.id, now: .now) }
    }

    // MARK: Messages

    private func message(_ text: ArraySlice<UInt8>, on connection: ConnectionID) {
        guard let page = page(on: connection) else { return }
        do throws(PageMessage.Refusal) {
            switch try PageMessage.read(text) {
            case .hello(let code, let forms): hello(page, code, forms)
            case .resume(let token): resume(page, token)
            case .answer(let sdp): answer(page, sdp)
            case .drawn(let number): stream.acknowledged(number, by: page.id, now: .now)
            case .sound(let isOn): stream.setHears(isOn, by: page.id)
            case .watching(let isOn): watching(page, isOn)
            case .pong: break
            }
        } catch {
            violated(page, error.rawValue)
        }
    }

    private func hello(_ page: Page, _ code: PairingCode?, _ forms: [PageMessage.StreamForm]) {
        switch page.state {
        case .opened, .rejected: break
        case .judged, .admitted: return violated(page, "the page has asked to be let in already")
        }
        guard let form = forms.first(where: { isUsable($0, for: page) }) else {
            page.send(.unusable)
            return end(page)
        }
        page.form = form
        page.takesPackets = forms.contains(.packets)
        page.enter(.judged, now: .now)
        if !page.isOpened {
            page.isOpened = true
            handlers.onOpened(page.id, page.address)
        }
        handlers.onHello(page.id, BrowserHello(code: code, kind: page.kind))
    }

    private func isUsable(_ form: PageMessage.StreamForm, for page: Page) -> Bool {
        switch form {
        case .packets: media != nil
        case .units: page.isPrivate
        }
    }

    /// A page whose socket was lost comes again by its token: another socket for the same browser.
    private func resume(_ newcomer: Page, _ token: String) {
        guard case .opened = newcomer.state else { return violated(newcomer, "the page can't come again now") }
        guard newcomer.isSecure, let id = tokens[token], let page = pages[id], let connection = newcomer.connection,
            case .admitted(let form) = page.state, form == .packets || page.returns.take(5, now: .now) == nil
        else {
            newcomer.send(.expired)
            return end(newcomer)
        }
        pages[newcomer.id] = nil
        newcomer.connection = nil
        if let old = page.connection {
            old.socket?.sayGoodbye()
            listener?.close(old.id)
        }
        detach(page)
        page.connection = connection
        firstConnections[connection.id] = page.id
        page.lostAt = nil
        listener?.identified(connection.id)
        if form == .units {
            stream.remove(page.id, now: .now)
            admitUnits(page)
        }
        page.send(.resumed)
        renewEntry(of: page)
        tellState(page)
    }

    private func watching(_ page: Page, _ isOn: Bool) {
        guard let gateway = page.gateway, page.setWatching(isOn, now: .now) else { return }
        let address = gateway.address.description
        handlers.onEvent(.startedAtGateway(page.id, address: address, after: .now - page.since))
    }

    private func answer(_ page: Page, _ sdp: String) {
        guard case .admitted(.packets) = page.state, let media else {
            return violated(page, "there is nothing to answer")
        }
        do throws(SessionAnswer.Failure) {
            let answer = try SessionAnswer(sdp)
            guard answer.takesVideo else {
                handlers.onEvent(.failed(page.id, reason: "the browser can't show H.264 in WebRTC"))
                page.send(.unusable)
                return end(page)
            }
            // A browser without Opus gets no sound.
            if !answer.takesSound { page.sources?.sound = nil }
            guard media.answer(page.id, answer) else {
                return violated(page, "the offer was answered already")
            }
        } catch {
            violated(page, "the answer to the offer can't be used")
        }
    }

    // MARK: The door

    func tell(_ verdict: BrowserVerdict, to id: ConnectionID) {
        guard let page = pages[id] else { return }
        switch verdict {
        case .refused(let why, let reason): refuse(page, why, reason)
        case .closed: end(page)
        case .asking:
            guard case .judged = page.state else { return }
            listener?.markAsking(id)
            page.send(.wait)
        case .wrongCode(let pause):
            guard case .judged = page.state else { return }
            page.enter(.rejected, now: .now)
            page.send(.no(pause: pause))
        case .admitted:
            guard case .judged = page.state, let form = page.form else { return }
            admit(page, form)
        }
        pump()
    }

    private func admit(_ page: Page, _ form: PageMessage.StreamForm) {
        let gateway = page.takesPackets ? nextGateway(for: page) : nil
        // A gateway speaks WebRTC.
        let form = gateway == nil ? form : .packets
        page.enter(.admitted(form), now: .now)
        if let connection = page.connection { listener?.identified(connection.id) }
        if page.isSecure {
            let token = PageToken.random()
            page.token = token
            tokens[token] = page.id
        }
        page.send(.admitted(token: page.token))
        switch form {
        case .packets:
            if let gateway {
                send(page, on: gateway)
                break
            }
            guard let media else { return }
            var random = SystemRandomNumberGenerator()
            let sources = BrowserSources(hasSound: options.stream.hasSound, random: &random)
            page.sources = sources
            let sdp = media.offer(page.id, sources, addresses: addresses(for: page), now: .now)
            page.send(.offer(sdp: sdp))
        case .units: admitUnits(page)
        }
        tellState(page)
    }

    /// One after another, so that they get about the same number of browsers.
    private func nextGateway(for page: Page) -> GatewayDoor? {
        let reached = gateways.filter { $0.isReached(from: page.address) }
        guard !reached.isEmpty else { return nil }
        gatewayTurn = (gatewayTurn + 1) % reached.count
        return reached[gatewayTurn]
    }

    /// The browser watches by a gateway, and keeps its place here.
    private func send(_ page: Page, on gateway: GatewayDoor) {
        page.gateway = gateway
        page.withoutPictureSince = .now
        page.renewalDue = gateway.renewal.map { .now + $0 }
        page.send(.gateway(gateway.entry()))
    }

    /// Gives a page at a gateway what lets it stay there, if that ends at all.
    private func renewEntry(of page: Page) {
        guard let gateway = page.gateway, let renewal = gateway.renewal else { return }
        page.renewalDue = .now + renewal
        page.send(.gatewayRenewed(gateway.entry()))
    }

    private func admitUnits(_ page: Page) {
        stream.admit(page.id, form: .units(takesSound: options.stream.hasSound), now: .now)
    }

    /// The browser has proven its certificate.
    func pathReady(_ id: ConnectionID) {
        guard let page = pages[id], let sources = page.sources else { return }
        stream.admit(id, form: .packets(sources), now: .now)
    }

    /// The address that the page was reached at comes first: the browser surely has a way to it.
    private func addresses(for page: Page) -> [IPAddress] {
        let own = OwnAddresses.all().filter { !$0.isLoopback && !$0.isLinkLocal }
        let first = page.localAddress.map { [$0] } ?? []
        guard options.bindAddress == nil else { return first }
        let isReached = { (address: IPAddress) in !first.contains(address) }
        // Browsers offer no loopback addresses themselves, but reach another one of the same machine.
        return (first.filter { !$0.isLoopback || own.isEmpty }) + own.filter(isReached)
    }

    // MARK: Notices

    func tellAll(_ notice: PageNotice) {
        switch notice {
        case .idle: isIdle = true
        case .shared: isIdle = false
        case .paused: isPaused = true
        case .resumed: isPaused = false
        case .sourceVisibility(let visibility): self.visibility = visibility
        case .caption(let text): caption = text
        case .note: break
        }
        // There may be thousands, so it is put into words once.
        let bytes = HostMessage.notice(notice).bytes
        for page in pages.values {
            guard case .admitted = page.state, page.isPrivate || !notice.isPrivate else { continue }
            page.connection?.socket?.send(encoded: bytes)
            if case .resumed = notice { page.withoutPictureSince = .now }
        }
    }

    /// What a page that has just come has to know.
    private func tellState(_ page: Page) {
        page.size = nil
        tellSize(page)
        if isIdle { page.send(.notice(.idle)) }
        if isPaused { page.send(.notice(.paused)) }
        if visibility != .visible { page.send(.notice(.sourceVisibility(visibility))) }
        if !caption.isEmpty, page.isPrivate { page.send(.notice(.caption(caption))) }
    }

    func tellSize(_ page: Page) {
        guard case .admitted(.packets) = page.state, let size, page.size != size else { return }
        page.size = size
        page.send(.size(size))
    }

    // MARK: Time

    func checkTimes(of page: Page, now: MediaTime) {
        if let lostAt = page.lostAt {
            if now - lostAt > WebTimes.resuming { finish(page) }
            return
        }
        guard let socket = page.connection?.socket else { return }
        switch page.state {
        case .opened where now - page.since > WebTimes.firstMessage: return end(page)
        case .rejected where now - page.since > WebTimes.nextTry: return end(page)
        default: break
        }
        if now - socket.lastHeard > WebTimes.silence {
            let id = page.connection?.id
            socket.giveUp()
            if let id { socketEnded(id, isGoodbye: false) }
        } else if now >= page.nextPing {
            page.nextPing = now + WebTimes.ping
            page.send(.ping)
        }
        if page.gateway != nil, !page.isWatching, !isPaused, now - page.withoutPictureSince > WebTimes.withoutPicture {
            return fail(page.id, "it has shown no picture of its gateway for 6 minutes")
        }
        if let due = page.renewalDue, now >= due { renewEntry(of: page) }
    }

    // MARK: The end of a page

    func refuse(_ page: Page, _ why: BrowserRefusal, _ reason: String) {
        page.send(.refused(why, reason: reason))
        end(page)
    }

    /// The stream can't go on; the page may begin anew.
    func fail(_ id: ConnectionID, _ reason: String) {
        guard let page = pages[id] else { return }
        handlers.onEvent(.failed(id, reason: reason))
        page.send(.failed(reason: reason))
        end(page)
    }

    /// Closes the socket once everything sent has left, and ends the stream at once.
    private func end(_ page: Page) {
        if let connection = page.connection {
            connection.socket?.sayGoodbye()
            detach(page)
            listener?.close(connection.id)
        }
        finish(page)
    }

    private func finish(_ page: Page) {
        guard pages.removeValue(forKey: page.id) != nil else { return }
        if let token = page.token { tokens[token] = nil }
        stream.remove(page.id, now: .now)
        media?.remove(page.id)
        if page.isOpened { handlers.onClosed(page.id) }
    }

    var figures: [WebFigures] {
        pages.values.filter { if case .admitted = $0.state { true } else { false } }.sorted {
            $0.id.value < $1.id.value
        }
        .map { page in
            let figures = stream.figures(of: page.id)
            var way: WebFigures.Way?
            if case .admitted(let form) = page.state, figures != nil {
                way = form == .units ? .units : media?.usesGCM(page.id) == true ? .packetsGCM : .packets
            }
            return WebFigures(
                id: page.id, way: way, isSecure: page.isSecure, stream: figures,
                gateway: page.gateway?.address.description, isWatching: page.isWatching)
        }
    }
}

/// By which a page comes again: 128 random bits.
enum PageToken {
    static func random() -> String {
        var random = SystemRandomNumberGenerator()
        return Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
}

extension PageNotice {
    /// Not for a socket that others can read.
    fileprivate var isPrivate: Bool {
        switch self {
        case .idle, .shared, .paused, .resumed, .sourceVisibility: false
        case .caption, .note: true
        }
    }
}
