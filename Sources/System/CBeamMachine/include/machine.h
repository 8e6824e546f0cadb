// The state of the machine's clock, whose header Swift's module of the C library leaves out.
#pragma once

/// Whether something keeps the clock in step (adjtimex(2)): 1 yes, 0 no, -1 the system doesn't say.
int beam_clock_is_synchronised(void);
