#include "rmap/samples/sums/sample_sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "logformat/packet_layout.h"
#include "rmap/result/limits.h"
#include "rmap/samples/sums/recording_frames.h"
#include "rmap/samples/sums/timed_frames.h"

namespace countrace::rmap {

using logformat::EventRecord;
using logformat::SamplePoint;

namespace {

// The values of a record behind its head, which carries no dump; what is left
// are texts. Absent: it is too short.
template <std::size_t N>
std::optional<std::array<std::uint64_t, N>> NumbersOf(
    const EventRecord& record, std::span<const std::byte>& texts) {
  constexpr std::size_t kAt = sizeof(logformat::KernelHookRecord);
  std::array<std::uint64_t, N> numbers;
  if (record.bytes.size() < kAt + sizeof(numbers)) return std::nullopt;
  std::memcpy(numbers.data(), record.bytes.data() + kAt, sizeof(numbers));
  texts = record.bytes.subspan(kAt + sizeof(numbers));
  return numbers;
}

std::string TextOf(std::span<const std::byte>& texts) {
  const auto* const begin = reinterpret_cast<const char*>(texts.data());
  const std::size_t bytes = strnlen(begin, texts.size());
  texts = texts.subspan(std::min(bytes + 1, texts.size()));
  return {begin, bytes};
}

}  // namespace

SampleSums::SampleSums(const logformat::TraceInfo& info, std::size_t most_timed,
                       DataDetail data, SampleCallback each)
    : points_(logformat::kHookIdMax + 1, SamplePoint::kNone),
      events_(logformat::kHookIdMax + 1, 0),
      is_second_(logformat::kHookIdMax + 1, false),
      most_timed_(most_timed),
      data_(logformat::kHookIdMax + 1, logformat::SampleData::kNone),
      detail_(data),
      each_(std::move(each)) {
  for (const logformat::HookInfo& hook : info.hooks) {
    points_[hook.id] = logformat::SamplePointOf(hook);
    has_probes_ |= hook.origin == logformat::HookOrigin::kProbe;
    has_timed_symbols_ |= points_[hook.id] == SamplePoint::kTimedSymbol;
    if (points_[hook.id] != SamplePoint::kSample) continue;
    data_[hook.id] = logformat::SampleDataOf(hook);
    const auto first =
        std::find_if(samples_.events.begin(), samples_.events.end(),
                     [&hook](const SampledEvent& event) {
                       return event.periods == 1 && event.name == hook.name &&
                              event.rate == hook.location &&
                              logformat::IsOfTwoPeriods(hook.location);
                     });
    events_[hook.id] =
        static_cast<std::uint32_t>(first - samples_.events.begin());
    if (first != samples_.events.end()) {
      first->periods = 2;
      is_second_[hook.id] = true;
    } else {
      samples_.events.push_back({hook.id, hook.name, hook.location});
      samples_.events.back().off_cpu = logformat::IsOffCpu(hook.name);
      samples_.events.back().data = data_[hook.id];
    }
  }
  samples_.files.push_back({logformat::kUnknownCode, ""});
  samples_.frames.emplace_back();
  samples_.areas.resize(2);
  cpus_.resize(samples_.events.size());
  streams_.resize(samples_.events.size());
}

std::uint32_t SampleSums::FileOf(std::uint64_t number) {
  const auto [found, added] = files_.try_emplace(
      number, static_cast<std::uint32_t>(samples_.files.size()));
  // Its record is lost, or comes later.
  if (added) samples_.files.push_back({logformat::kUnknownCode, ""});
  return found->second;
}

void SampleSums::DefineFile(std::span<const std::uint64_t> numbers,
                            std::span<const std::byte> texts) {
  CodeFile& file = samples_.files[FileOf(numbers[0])];
  file.build_id = TextOf(texts);
  if (file.build_id == logformat::kNoText) file.build_id.clear();
  file.path = TextOf(texts);
}

std::uint32_t SampleSums::AreaOf(std::uint64_t number) {
  if (number == 0) return 0;
  const auto found = areas_.find(number);
  return found == areas_.end() ? 1 : found->second;
}

void SampleSums::DefineArea(std::span<const std::uint64_t> numbers) {
  // Each stream defines what it uses.
  const auto [found, added] = areas_.try_emplace(
      numbers[0], static_cast<std::uint32_t>(samples_.areas.size()));
  if (!added) return;
  samples_.areas.push_back({FileOf(numbers[1]), numbers[2], numbers[3],
                            numbers[4], static_cast<std::int32_t>(numbers[5])});
}

void SampleSums::FrameNumbers::Set(std::uint64_t number, std::uint32_t frame) {
  constexpr std::uint64_t kGap = 64;  // a record is no smaller
  if (number < next_to_each_other_.size()) {
    next_to_each_other_[number] = frame;
  } else if (number - next_to_each_other_.size() < kGap) {
    next_to_each_other_.resize(number, 0);
    next_to_each_other_.push_back(frame);
  } else {
    others_[number] = frame;
  }
}

std::uint32_t SampleSums::FrameNumbers::Find(std::uint64_t number) const {
  if (number < next_to_each_other_.size() && next_to_each_other_[number] != 0) {
    return next_to_each_other_[number];
  }
  if (others_.empty()) return 0;
  const auto found = others_.find(number);
  return found == others_.end() ? 0 : found->second;
}

void SampleSums::DefineFrame(std::uint32_t stream,
                             std::span<const std::uint64_t> numbers) {
  if (stream >= numbers_.size()) numbers_.resize(stream + 1);
  FrameNumbers& of_stream = numbers_[stream];
  const std::uint32_t parent = numbers[1] == 0 ? 0 : of_stream.Find(numbers[1]);
  const std::uint32_t file = FileOf(numbers[2]);
  const auto [frame, added] =
      frames_.try_emplace({parent, file, numbers[3]},
                          static_cast<std::uint32_t>(samples_.frames.size()));
  if (added) {
    samples_.frames.push_back({parent, file, numbers[3]});
    is_timed_.push_back(is_timed_[parent] ||
                        samples_.files[file].path == logformat::kJitCode);
  }
  of_stream.Set(numbers[0], frame->second);
}

void SampleSums::Define(const EventRecord& record) {
  const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
  std::span<const std::byte> texts;
  switch (points_[hook_id]) {
    case SamplePoint::kFrame:
      if (const auto numbers =
              NumbersOf<logformat::kFrameNumbers>(record, texts)) {
        DefineFrame(record.stream, *numbers);
      }
      return;
    case SamplePoint::kFile:
      if (const auto numbers =
              NumbersOf<logformat::kFileNumbers>(record, texts)) {
        DefineFile(*numbers, texts);
      }
      return;
    case SamplePoint::kSymbol:
      if (const auto numbers =
              NumbersOf<logformat::kSymbolNumbers>(record, texts)) {
        samples_.symbols[{FileOf((*numbers)[0]), (*numbers)[1]}] = {
            (*numbers)[2], TextOf(texts)};
      }
      return;
    case SamplePoint::kTimedSymbol:
      if (const auto numbers =
              NumbersOf<logformat::kTimedSymbolNumbers>(record, texts)) {
        const auto& [file, begin, bytes, from, until] = *numbers;
        samples_.timed_symbols.push_back(
            {FileOf(file), begin, bytes, from, until, TextOf(texts)});
      }
      return;
    case SamplePoint::kCount:
      if (const auto numbers =
              NumbersOf<logformat::kCountNumbers>(record, texts)) {
        const auto& [hook, counted, idle, outside, lost, throttled] = *numbers;
        if (hook > logformat::kHookIdMax ||
            points_[hook] != SamplePoint::kSample) {
          return;
        }
        samples_.counts.push_back({events_[hook], record.cpu, counted, idle,
                                   outside, lost, throttled});
      }
      return;
    case SamplePoint::kShort:
      if (const auto numbers =
              NumbersOf<logformat::kShortNumbers>(record, texts)) {
        const auto& [hook, shorter, shorter_ns, lost_ns, unseen] = *numbers;
        if (hook > logformat::kHookIdMax ||
            points_[hook] != SamplePoint::kSample) {
          return;
        }
        samples_.shorts.push_back(
            {events_[hook], shorter, shorter_ns, lost_ns, unseen});
      }
      return;
    case SamplePoint::kArea:
      if (const auto numbers =
              NumbersOf<logformat::kAreaNumbers>(record, texts)) {
        DefineArea(*numbers);
      }
      return;
    case SamplePoint::kSample:
    case SamplePoint::kNone:
      return;
  }
}

std::uint32_t SampleSums::ContextOf(const SampleContext& context) {
  if (!samples_.contexts.empty() && context == last_context_) {
    return last_context_index_;
  }
  const auto [found, added] = contexts_.try_emplace(
      context, static_cast<std::uint32_t>(samples_.contexts.size()));
  if (added) samples_.contexts.push_back(context);
  last_context_ = context;
  last_context_index_ = found->second;
  return found->second;
}

void SampleSums::AddData(const EventRecord& record, std::uint32_t hook_id,
                         std::uint32_t context, std::uint64_t period) {
  std::span<const std::byte> texts;
  const auto numbers = NumbersOf<logformat::kAddressNumbers>(record, texts);
  if (!numbers) return;
  DataKey key{events_[hook_id], context, AreaOf((*numbers)[2]), (*numbers)[3],
              0};
  std::uint64_t weight = 0;
  if (data_[hook_id] == logformat::SampleData::kSource) {
    if (const auto all = NumbersOf<logformat::kSourceNumbers>(record, texts)) {
      if (detail_ == DataDetail::kSource) key.source = (*all)[4];
      weight = (*all)[5];
    }
  }
  constexpr std::uint64_t kPageMask = 0xfff;
  switch (detail_) {
    case DataDetail::kNone:
    case DataDetail::kSource:
      key.area = 0;
      key.address = 0;
      break;
    case DataDetail::kObject: {
      const std::string& path =
          samples_.files[samples_.areas[key.area].file].path;
      if (!path.starts_with('/')) key.address = 0;
      break;
    }
    case DataDetail::kPage:
      key.address &= ~kPageMask;
      break;
    case DataDetail::kAddress:
      break;
  }
  DataSum& sum = data_sums_[key];
  ++sum.hits;
  sum.periods += period;
  const auto amount = static_cast<double>(period);
  sum.squared_periods += amount * amount;
  sum.weights += weight;
}

std::uint32_t SampleSums::Add(const EventRecord& record,
                              const SampleContext& context) {
  std::span<const std::byte> texts;
  const auto numbers = NumbersOf<logformat::kSampleNumbers>(record, texts);
  if (!numbers) return 0;
  const auto [period, stack] = *numbers;
  std::uint32_t frame = 0;
  if (stack != 0 && record.stream < numbers_.size()) {
    frame = numbers_[record.stream].Find(stack);
  }
  const bool stack_lost = stack != 0 && frame == 0;
  if (stack_lost) ++samples_.stacks_lost;
  const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
  const std::uint32_t in = ContextOf(context);
  if (detail_ != DataDetail::kNone &&
      data_[hook_id] != logformat::SampleData::kNone) {
    AddData(record, hook_id, in, period);
  }
  const Key key = {events_[hook_id], in, frame};
  NoteCpu(key.event, record);
  const TimedSample sample = {record.time_ns,      key.event,  in,    frame,
                              is_second_[hook_id], stack_lost, period};
  if (each_ != nullptr) all_.Add(sample);
  if (samples_.timed.size() < most_timed_ && !too_many_timed_) {
    samples_.timed.push_back(sample);
  } else if (!samples_.timed.empty()) {
    samples_.timed = {};
    too_many_timed_ = true;
  }
  if (has_timed_symbols_ && is_timed_[frame]) {
    pending_.Add(sample);
  } else {
    AddTo(sums_[key], sample);
  }
  return frame;
}

void SampleSums::AddTo(Sum& sum, const TimedSample& sample) {
  ++sum.hits;
  if (sample.second) ++sum.second_hits;
  sum.periods += sample.period;
  const auto weight = static_cast<double>(sample.period);
  sum.squared_periods += weight * weight;
}

void SampleSums::OnLoss(std::uint64_t records) {
  samples_.lost_records = AddBounded(samples_.lost_records, records);
}

void SampleSums::NoteCpu(std::uint32_t event, const EventRecord& record) {
  std::vector<bool>& known = streams_[event];
  if (record.stream < known.size() && known[record.stream]) return;
  if (record.stream >= known.size()) known.resize(record.stream + 1);
  known[record.stream] = true;
  cpus_[event].insert(record.cpu);
}

bool SampleSums::EndsLost() const {
  std::vector<std::set<std::int32_t>> ended(cpus_.size());
  for (const SampleCount& count : samples_.counts) {
    ended[count.event].insert(count.cpu);
  }
  for (std::size_t event = 0; event < cpus_.size(); ++event) {
    if (!std::includes(ended[event].begin(), ended[event].end(),
                       cpus_[event].begin(), cpus_[event].end())) {
      return true;
    }
  }
  return false;
}

void SampleSums::Drop() {
  sums_.clear();
  pending_.Clear();
  all_.Clear();
  samples_.timed.clear();
  too_many_timed_ = false;
  data_sums_.clear();
  samples_.stacks_lost = samples_.lost_records = 0;
  cpus_.assign(cpus_.size(), {});
  streams_.assign(streams_.size(), {});
}

Samples SampleSums::Take() const {
  Samples out = samples_;
  out.ends_lost = EndsLost();
  absl::flat_hash_map<Key, Sum> sums = sums_;
  TimedFrames frames(out);
  const auto set_frame = [&](TimedSample& sample) {
    if (!has_timed_symbols_ || !is_timed_[sample.frame]) return;
    sample.frame = frames.At(sample.frame, sample.time_ns);
  };
  pending_.ForEach([&](TimedSample sample) {
    set_frame(sample);
    AddTo(sums[{sample.event, sample.context, sample.frame}], sample);
  });
  for (TimedSample& sample : out.timed) set_frame(sample);
  for (const auto& [key, sum] : sums) {
    out.sums.push_back({key.event, key.context, key.frame, sum.hits,
                        sum.second_hits, sum.periods, sum.squared_periods});
  }
  // The map's order is another in each run.
  std::sort(out.sums.begin(), out.sums.end(),
            [](const SampleSum& a, const SampleSum& b) {
              return std::tie(a.event, a.context, a.frame) <
                     std::tie(b.event, b.context, b.frame);
            });
  const std::vector<std::uint32_t> stands_for = JoinRecording(has_probes_, out);
  for (const auto& [key, sum] : data_sums_) {
    out.data_sums.push_back({key.event, key.context, key.area, key.address,
                             key.source, sum.hits, sum.periods,
                             sum.squared_periods, sum.weights});
  }
  const auto place = [](const DataSum& one) {
    return std::tie(one.event, one.context, one.area, one.address, one.source);
  };
  std::sort(
      out.data_sums.begin(), out.data_sums.end(),
      [&](const DataSum& a, const DataSum& b) { return place(a) < place(b); });
  all_.ForEach([&](TimedSample sample) {
    set_frame(sample);
    if (!stands_for.empty()) sample.frame = stands_for[sample.frame];
    each_(out, sample);
  });
  return out;
}

}  // namespace countrace::rmap
