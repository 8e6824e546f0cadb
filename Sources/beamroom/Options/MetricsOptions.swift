import ArgumentParser
import BeamMetrics
import BeamTerminal
import BeamVersion

/// Figures for Prometheus.
struct MetricsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Serve figures for Prometheus by HTTP at /metrics. At a port alone only this machine's programs can read them; at another address everybody who reaches it, with the viewers' names. Port 0 is any free one.",
            valueName: "[address:]port"), transform: MetricsAddress.reading(OptionText.metrics))
    var metrics: MetricsAddress?

    /// Nil: none are served.
    func figures(of command: String) -> FigureMetrics? {
        metrics.map { _ in
            FigureMetrics(command: command, version: BeamVersion.number, commit: BeamVersion.commit)
        }
    }
}

extension MetricsAddress: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
