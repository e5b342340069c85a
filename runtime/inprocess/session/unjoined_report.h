// The report of a program with hooks that finds its recording and may not write
// there, as in a sandbox that shows all files read-only: without it, the
// recorder would not miss the program.
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SESSION_UNJOINED_REPORT_H_
#define COUNTRACE_RUNTIME_INPROCESS_SESSION_UNJOINED_REPORT_H_

namespace countrace::runtime {

// Writes `error`, the errno of opening the session, and this program's file
// into the pipe of the recording in folder `session`, or, if that is private,
// into root's pipe (runtime/unjoined_place.h). Nothing happens where both are
// out of reach, or it is full. Changes errno.
void ReportUnjoined(const char* session, int error) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SESSION_UNJOINED_REPORT_H_
