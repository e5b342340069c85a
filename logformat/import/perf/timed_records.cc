#include "logformat/import/perf/timed_records.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

namespace {

constexpr std::uint64_t kRecordsBetween = 1 << 15;

bool IsKnown(std::uint32_t type) {
  return (type != 0 && type < PERF_RECORD_MAX) ||
         (type >= kFirstUserRecord && type <= kCompressed2);
}

// Symbols of BPF programs, which are not used. Linux writes those of programs
// that are loaded while several events ask for them with a size that is too
// large (perf_event_bpf_output), so what they end with is no id and no time.
bool IsOfBpfProgram(std::uint32_t type) {
  return type == PERF_RECORD_KSYMBOL || type == PERF_RECORD_BPF_EVENT;
}

}  // namespace

absl::Status TimedRecords::Malformed(const RawRecord& record) const {
  return absl::InvalidArgumentError(absl::StrFormat(
      "At offset %d of %d bytes: a record of type %d and %d bytes is shorter "
      "than its fields: the file is damaged",
      record.offset, bytes_.size(), record.type,
      record.body.size() + kRecordHeaderBytes));
}

const EventAttribute* TimedRecords::AttributeOf(const RawRecord& record) const {
  return record.type == PERF_RECORD_SAMPLE ? attributes_.OfSample(record.body)
                                           : attributes_.OfOther(record.body);
}

bool TimedRecords::ReadFields(const RawRecord& record,
                              const EventAttribute& attribute) {
  return record.type == PERF_RECORD_SAMPLE
             ? ReadSample(attribute, record.body, file_.swapped, sample_)
             : ReadTrailer(attribute, record.body, file_.swapped, sample_);
}

absl::Status TimedRecords::Take(RawRecord record) {
  absl::Status status;
  const auto deliver = [&](std::uint64_t time_ns, const RawRecord& one) {
    if (status.ok()) status = Deliver(time_ns, one);
  };
  if (record.type == kFinishedRound) {
    sorter_.EndRound(deliver);
    return status;
  }
  if (!IsKnown(record.type)) {
    ++unknown_types_[record.type];
    return absl::OkStatus();
  }
  if (record.type >= kFirstUserRecord) return receiver_.OnUntimed(record);
  if (IsOfBpfProgram(record.type)) return absl::OkStatus();
  const EventAttribute* attribute = AttributeOf(record);
  if (attribute == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "At offset %d of %d bytes: a record of type %d and %d bytes is of no "
        "event of this file: it is damaged",
        record.offset, bytes_.size(), record.type,
        record.body.size() + kRecordHeaderBytes));
  }
  if (!ReadFields(record, *attribute)) return Malformed(record);
  if (record.type != PERF_RECORD_SAMPLE && sample_.time_ns == 0) {
    return receiver_.OnUntimed(record);
  }
  if (sample_.time_ns >> 62 != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "At offset %d of %d bytes: a record of type %d has the time %d ns, "
        "which is no clock's: the file is damaged",
        record.offset, bytes_.size(), record.type, sample_.time_ns));
  }
  sorter_.Add(sample_.time_ns, std::move(record), deliver);
  return status;
}

bool TimedRecords::IsRepeated(std::uint64_t time_ns, const RawRecord& record) {
  if (time_ns != same_time_ns_) {
    same_time_.clear();
    same_time_ns_ = time_ns;
  }
  for (const RawRecord& other : same_time_) {
    if (other.type == record.type && other.misc == record.misc &&
        std::ranges::equal(other.body, record.body)) {
      ++repeated_;
      return true;
    }
  }
  constexpr std::size_t kMaxCompared = 64;  // CPUs, at one nanosecond
  if (same_time_.size() < kMaxCompared) same_time_.push_back(record);
  return false;
}

absl::Status TimedRecords::Deliver(std::uint64_t time_ns,
                                   const RawRecord& record) {
  if (IsRepeated(time_ns, record)) return absl::OkStatus();
  // A record that came too late keeps its position.
  last_ns_ = std::max(time_ns, last_ns_);
  const EventAttribute& attribute = *AttributeOf(record);
  ReadFields(record, attribute);
  return receiver_.OnTimed(last_ns_, record, attribute, sample_);
}

absl::Status TimedRecords::Read() {
  while (true) {
    auto record = reader_.Next();
    if (!record.ok()) return record.status();
    if (!record->has_value()) break;
    if (absl::Status status = Take(**std::move(record)); !status.ok()) {
      return status;
    }
    if (++taken_ % kRecordsBetween == 0) {
      const absl::Status status = receiver_.OnProgress(reader_.done_bytes());
      if (!status.ok()) return status;
    }
  }
  absl::Status status;
  sorter_.Finish([&](std::uint64_t time_ns, const RawRecord& record) {
    if (status.ok()) status = Deliver(time_ns, record);
  });
  return status;
}

void TimedRecords::Finish(logformat::TraceInfo& info) const {
  if (sorter_.late() != 0) {
    info.not_known.push_back(absl::StrFormat(
        "when exactly %d records happened: they came up to %d ns too late, "
        "after later ones, and keep their positions",
        sorter_.late(), sorter_.latest_by_ns()));
  }
  if (repeated_ != 0) {
    info.not_known.push_back(absl::StrFormat(
        "why %d records are in the file twice, with equal bytes and times: "
        "each is used once",
        repeated_));
  }
  for (const auto& [type, count] : unknown_types_) {
    info.not_known.push_back(absl::StrFormat(
        "the content of %d records of type %d: this type is not known", count,
        type));
    // A damaged file could add any number of them.
    if (info.not_known.size() > 64) break;
  }
}

}  // namespace countrace::importer::perf
