import Testing

extension EndToEnd {
    @Suite(.enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct PrivateMachineTests {
        @Test func twoMachinesReachEachOtherAndSurviveTheirDaemonsEnd() throws {
            let first = try PrivateMachine()
            let second = try PrivateMachine(beside: first)
            #expect(first.address != second.address)
            try first.restartDaemon()
            try second.stopDaemon()
            try second.startDaemon()
        }
    }
}
