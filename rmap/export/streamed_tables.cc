#include "rmap/export/streamed_tables.h"

#include <string>

namespace countrace::rmap {
namespace {

TableColumn Number(const char* name, Unit unit, const char* meaning) {
  return {name, ValueType::kInteger, unit, meaning};
}
TableColumn Ns(const char* name, const char* meaning) {
  return Number(name, Unit::kNanoseconds, meaning);
}
TableColumn Id(const char* name, const char* meaning) {
  return Number(name, Unit::kId, meaning);
}
TableColumn Name(const char* name, const char* meaning) {
  return {name, ValueType::kText, Unit::kNone, meaning};
}
TableColumn Sure(const char* meaning) {
  return {"quality", ValueType::kText, Unit::kQuality, meaning};
}

TableColumn Thread() {
  return Id("thread", "Its row in threads (tids are used again).");
}
TableColumn Tid() { return Id("tid", "The thread."); }
TableColumn Instant(const char* name) {
  TableColumn column = Ns(name, "On CLOCK_MONOTONIC.");
  column.is_instant = true;
  return column;
}
TableColumn Begin() { return Instant("begin_ns"); }
TableColumn End() { return Instant("end_ns"); }

TableSchema Dispatches() {
  return {"dispatches",
          "Stays on a CPU, from switch-in to switch-out.",
          {Id("cpu", "Logical CPU."),
           Name("of", "thread, idle, or outside: it is not counted."), Thread(),
           Tid(), Begin(), End(),
           Name("end_state",
                "Why it left: runnable, preempted, throttled, interruptible, "
                "uninterruptible, stopped, traced, dead, other."),
           Ns("interrupts_ns", "Part of it: interrupts' work."),
           Sure("inferred: its begin or end was not recorded.")},
          {{"thread", "begin_ns"}, {"cpu", "begin_ns"}}};
}

TableSchema Calls() {
  return {"calls",
          "Calls of a segment, also of system calls and interrupts.",
          {Id("cpu", "The CPU that an interrupt came to; absent: of a thread."),
           Thread(),
           Tid(),
           Name("segment", "provider:name of its hook."),
           Number("depth", Unit::kCount, "Calls open around it."),
           Begin(),
           End(),
           Ns("on_cpu_ns", "Part of it: its thread was on a CPU."),
           Number("switches", Unit::kCount, "Times its thread left the CPU."),
           Number("faults", Unit::kCount, "Page faults in it."),
           {"on_cpu_quality", ValueType::kText, Unit::kQuality,
            "How sure on_cpu_ns, switches and faults are."},
           Sure("inferred: its enter or exit was not recorded.")},
          {{"thread", "begin_ns"}, {"segment", "begin_ns"}}};
}

TableSchema Points() {
  return {"points",
          "Hits of point hooks, and page faults that have a record.",
          {Instant("time_ns"), Id("cpu", "The CPU of a page fault."), Thread(),
           Tid(), Name("hook", "provider:name; page-fault."),
           Name("payload",
                "Its values by name, as JSON: {\"arg0\":7}; absent: none.")},
          {{"hook", "time_ns"}, {"thread", "time_ns"}}};
}

TableSchema Waits() {
  return {"waits",
          "Time of a thread on no CPU.",
          {Thread(), Tid(),
           Name("kind", "runnable, or blocked (known with wake-ups)."), Begin(),
           End()},
          {{"thread", "begin_ns"}}};
}

TableSchema Wakeups() {
  return {"wakeups",
          "What ended blocked time.",
          {Instant("time_ns"), Thread(), Tid(),
           Ns("blocked_ns", "How long it was blocked."),
           Name("waker_kind", "As waker.kind of wakers."),
           Id("waker_thread", "The waker's row in threads."),
           Id("waker_tid", "The waker."),
           Name("waker_segment", "What the waker was in, innermost.")},
          {{"thread", "time_ns"}, {"waker_thread", "time_ns"}}};
}

TableSchema CountsTable() {
  return {"counts",
          "Counts of events as they are attributed: they add up to the books.",
          {Id("cpu", "Logical CPU; absent: of any."),
           Name("account",
                "processes, idle, interrupts, outside, unattributed; unseen: "
                "a thread may have them besides, in no account."),
           Thread(), Tid(), Begin(), End(), Name("event", "The event."),
           Number("count", Unit::kCount,
                  "It happened so often, at unknown times between the two."),
           Number("count.lo", Unit::kCount, "Lower limit of that."),
           Number("count.hi", Unit::kCount, "Upper limit.")},
          {{"event", "begin_ns"}}};
}

TableSchema Losses() {
  return {"losses",
          "Where records are missing.",
          {Id("cpu", "The CPU whose records are missing; absent: a thread."),
           Thread(), Tid(), Begin(), End(),
           Number("records", Unit::kCount, "How many; absent: not known."),
           Name("cause", "Why.")},
          {}};
}

TableSchema Samples() {
  return {"samples",
          "Samples, one by one.",
          {Instant("time_ns"), Name("event", "The event."), Thread(), Tid(),
           Name("segment", "What was open, innermost."),
           Name("system_call", "The system call that was open."),
           Number("period", Unit::kCount, "What it stands for."),
           Id("frame", "Its innermost row in frames; absent: no stack.")},
          {{"thread", "time_ns"}}};
}

TableSchema Frames() {
  return {"frames",
          "The stacks of samples, as a tree.",
          {Id("frame", "Its number."),
           Id("parent", "The frame that called it; absent: none."),
           Name("function", "Its name, or a bucket."),
           Name("inlined", "Functions inlined there, outermost first."),
           Name("dso", "The file of the code."),
           Name("build_id", "The version of that file."),
           Name("address", "Where the code is in its file.")},
          {{"frame"}}};
}

TableSchema Meta() {
  return {"meta",
          "About the trace: a row for each fact.",
          {Name("key", "schema, path, begin_ns, loss.damaged, ..."),
           Name("value", "As text.")},
          {}};
}

}  // namespace

const std::vector<TableSchema>& StreamedTables() {
  static const auto& tables = *new std::vector<TableSchema>{
      Dispatches(),  Calls(),  Points(),  Waits(),  Wakeups(),
      CountsTable(), Losses(), Samples(), Frames(), Meta()};
  return tables;
}

}  // namespace countrace::rmap
