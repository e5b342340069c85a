// Two CPUs on one trace: who reads streams of threads run by run
// (TraceReader::ReadThreadRuns) may leave some of them, for a while, to
// another thread, and goes on with the others and with the kernel's records.
//
//   reader                         scheduler             its thread
//     Offer(stream, up to t) ------> ticket --(queue)-->   DeliverRuns(t)
//     other streams, kernel records
//     IsDone(ticket)? then the stream's next record is known, else it is not
//     before t: Offer(stream, up to t') again, or WaitFor(ticket)
//
// A stream that is elsewhere belongs to that thread until its last ticket is
// done.
#ifndef COUNTRACE_LOGFORMAT_RUN_SHARING_H_
#define COUNTRACE_LOGFORMAT_RUN_SHARING_H_

#include <cstdint>

namespace countrace::logformat {

struct EventRecord;
class ItemSink;

// The records of one thread, in the order of time.
class RunSource {
 public:
  virtual ~RunSource() = default;
  // Delivers those before `limit_ns`, by OnThreadRecords() alone. Returns:
  // false if it stopped before something else: a loss, or another thread's.
  virtual bool DeliverRuns(std::uint64_t limit_ns, ItemSink& sink) = 0;
};

// Who may have runs delivered elsewhere. Called by the reader's thread.
class RunScheduler {
 public:
  using Ticket = std::uint64_t;
  static constexpr Ticket kNo = 0;

  virtual ~RunScheduler() = default;
  // The next records of a thread, up to `limit_ns`. `head`: of its packet.
  // `exact`: the first is of `begin_ns`; else what was offered of the source
  // before may not be done, and the first is not before `begin_ns`. Returns:
  // kNo if the reader is to deliver them, after what was offered before.
  virtual Ticket Offer(RunSource& source, const EventRecord& head,
                       std::uint64_t begin_ns, bool exact,
                       std::uint64_t limit_ns) = 0;
  virtual bool IsDone(Ticket ticket) = 0;
  virtual void WaitFor(Ticket ticket) = 0;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_RUN_SHARING_H_
