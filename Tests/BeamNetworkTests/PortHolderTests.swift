import Glibc
import Testing

@testable import BeamNetwork

/// Who has a TCP port that is in use.
struct PortHolderTests {
    @Test func listeningSocketsAreFoundInTheKernelsTable() {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:CC79 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000 100 0
               1: 0100007F:CC79 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0000 100 0
               2: 00000000000000000000000000000000:CC79 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4713 1 0
               3: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4714 1 0000 100 0
               4: short
            """
        #expect(PortHolder.listening(on: 52345, table) == ["4711", "4713"])
        #expect(PortHolder.listening(on: 1, table) == [] && PortHolder.listening(on: 52345, "") == [])
    }

    @Test func thisProcessIsFoundByItsPort() throws {
        let host = try TestHost()
        defer { host.server.shutdown() }
        guard case .program(let name, let pid) = PortHolder.find(port: Int(host.server.controlPort)) else {
            Issue.record("the holder isn't found")
            return
        }
        #expect(pid == getpid() && !name.isEmpty)
    }

    @Test func theWordsSayWhoHasItAndWhatToDo() {
        #expect(
            PortHolder.beamroom(pid: 7, command: "share").words(port: 52345, place: "")
                == "This machine already shares: process 7 has TCP port 52345. End that one, or use another port with --port (--port 52350)."
        )
        #expect(
            PortHolder.beamroom(pid: 7, command: "room").words(port: 1, place: "").hasPrefix(
                "This machine is in a room"))
        #expect(
            PortHolder.program(name: "nginx", pid: 7).words(port: 80, place: " on ::1").contains(
                "“nginx” (process 7), has TCP port 80 on ::1"))
        #expect(PortHolder.unknown.words(port: 52350, place: "").contains("--port 52360"))
    }
}
