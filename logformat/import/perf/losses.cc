#include "logformat/import/perf/losses.h"

#include <linux/perf_event.h>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/byte_reader.h"

namespace countrace::importer::perf {

void Losses::Lose(std::int32_t cpu, std::uint64_t count, std::uint64_t begin_ns,
                  std::uint64_t end_ns) {
  lost_ += count;
  records_.Lose(cpu, count, /*packets=*/1, begin_ns, end_ns);
  // Counted once, above.
  if (has_user_hooks_) {
    user_.OnLoss(stream_, logformat::DiscardCause::kKernelRingFull,
                 /*records=*/0, /*packets=*/1, begin_ns, end_ns);
  }
}

bool Losses::OnRecord(std::int32_t cpu, std::uint64_t begin_ns,
                      std::uint64_t end_ns, const RawRecord& record,
                      bool swapped) {
  ByteReader body(record.body, swapped);
  if (record.type == PERF_RECORD_LOST) body.Skip(8);  // id
  const std::uint64_t count = body.U64();
  if (!body.ok()) return false;
  if (count != 0) Lose(cpu, count, begin_ns, end_ns);
  return true;
}

bool Losses::TakeTotal(const RawRecord& record, bool swapped) {
  ByteReader body(record.body, swapped);
  said_at_end_ += body.U64();
  return body.ok();
}

void Losses::Finish(std::uint64_t end_ns, bool unfinished,
                    logformat::TraceInfo& info) {
  const bool any = records_.any();
  const std::int32_t cpu = any ? records_.cpus().begin()->first : 0;
  if (said_at_end_ > lost_ && any) {
    Lose(cpu, said_at_end_ - lost_, end_ns, end_ns);
  }
  if (unfinished && any) {
    // perf was killed: the content of its buffers is not in the file.
    for (const auto& [number, books] : records_.cpus()) {
      Lose(number, 0, end_ns, end_ns);
    }
    info.not_known.push_back(
        "the last records: perf record was killed, and the file has neither "
        "the end of its records nor the name of the machine");
  }
  if (throttled_ != 0) {
    info.not_known.push_back(absl::StrFormat(
        "what was sampled while the kernel throttled the events, %d times: "
        "record with a lower -F",
        throttled_));
  }
}

}  // namespace countrace::importer::perf
