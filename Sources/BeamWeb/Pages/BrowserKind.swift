/// What kind of browser it is, for the list of viewers: by its *User-Agent*, which may say anything.
enum BrowserKind {
    /// Such as “Chrome on Android”; of a few known words only, so that it is safe to show.
    static func name(agent: String) -> String {
        let browser = browsers.first { agent.contains($0.mark) }?.name
        let system = systems.first { agent.contains($0.mark) }?.name
        return (browser ?? "Browser") + (system.map { " on " + $0 } ?? "")
    }

    /// Most browsers also name those that they are compatible with: the most particular comes first.
    private static let browsers: [(mark: String, name: String)] = [
        ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"), ("Vivaldi/", "Vivaldi"),
        ("SamsungBrowser/", "Samsung Internet"), ("FxiOS/", "Firefox"), ("Firefox/", "Firefox"), ("CriOS/", "Chrome"),
        ("HeadlessChrome/", "Chrome"), ("Chromium/", "Chromium"), ("Chrome/", "Chrome"), ("Epiphany/", "GNOME Web"),
        ("Safari/", "Safari"),
    ]
    private static let systems: [(mark: String, name: String)] = [
        ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("CrOS", "ChromeOS"), ("Windows", "Windows"),
        ("Macintosh", "Mac"), ("SMART-TV", "TV"), ("Tizen", "Tizen"), ("Web0S", "webOS"), ("Linux", "Linux"),
    ]
}
