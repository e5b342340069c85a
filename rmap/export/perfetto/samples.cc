#include "rmap/export/perfetto/samples.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "rmap/export/perfetto/track_events.h"
#include "rmap/samples/names/code_places.h"

namespace countrace::rmap::perfetto {
namespace {

// Where in memory a file was is not in a trace: all of it.
constexpr std::uint64_t kEndOfMemory = std::uint64_t{1} << 47;

// Perfetto's build ids are bytes.
std::string BytesOf(const std::string& build_id) {
  const bool hexadecimal = build_id.size() % 2 == 0 &&
                           std::ranges::all_of(build_id, [](unsigned char c) {
                             return absl::ascii_isxdigit(c);
                           });
  return hexadecimal ? absl::HexStringToBytes(build_id) : build_id;
}

// The stacks of one event: each is interned where it comes first.
class Stacks {
 public:
  Stacks(const Samples& samples, CodePlaces& places)
      : samples_(samples), places_(places) {}

  // Interns what is new of the stack of `frame`. Its iid is frame.
  void Intern(Message& packet, std::uint32_t frame) {
    if (!IsNew(stacks_, frame)) return;
    Message interned(packet, kInternedData);
    std::vector<std::uint64_t> iids;  // innermost first
    for (std::uint32_t at = frame; at != 0; at = samples_.frames[at].parent) {
      const std::vector<std::uint32_t>& chain = places_.Of(at);
      const auto [first, added] = frames_.try_emplace(at, next_frame_);
      if (added) {
        next_frame_ += chain.size();
        InternFile(interned, samples_.frames[at].file);
      }
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const std::uint64_t iid = first->second + i;
        iids.push_back(iid);
        if (added) InternFrame(interned, iid, chain[i], samples_.frames[at]);
      }
    }
    std::ranges::reverse(iids);
    Message stack(interned, kCallstacks);
    stack.add_uint64(kIid, frame);
    for (const std::uint64_t iid : iids) stack.add_uint64(kFrameIds, iid);
  }

 private:
  static bool IsNew(std::vector<bool>& seen, std::size_t number) {
    if (number >= seen.size()) seen.resize(number + 1, false);
    if (seen[number]) return false;
    return seen[number] = true;
  }

  void InternFile(Message& interned, std::uint32_t number) {
    if (!IsNew(files_, number)) return;
    const CodeFile& file = samples_.files[number];
    const std::uint64_t iid = number + 1;
    const auto add = [&](Tag of, std::string_view text) {
      Message entry(interned, of);
      entry.add_uint64(kIid, iid);
      entry.add_bytes(kInternedText, text.data(), text.size());
    };
    // Perfetto puts a slash before each part of a path.
    const bool absolute = file.path.starts_with('/');
    add(kMappingPaths, std::string_view(file.path).substr(absolute ? 1 : 0));
    if (!file.build_id.empty()) add(kBuildIds, BytesOf(file.build_id));
    Message mapping(interned, kMappings);
    mapping.add_uint64(kIid, iid);
    if (!file.build_id.empty()) mapping.add_uint64(kBuildId, iid);
    mapping.add_uint64(kMappingEnd, kEndOfMemory);
    mapping.add_uint64(kPathIds, iid);
  }

  void InternFrame(Message& interned, std::uint64_t iid, std::uint32_t place,
                   const StackFrame& at) {
    const std::uint64_t name = std::uint64_t{place} + 1;
    if (IsNew(names_, place)) {
      Message entry(interned, kFunctionNames);
      entry.add_uint64(kIid, name);
      AddText(entry, kInternedText, places_[place].function);
    }
    Message frame(interned, kFrames);
    frame.add_uint64(kIid, iid);
    frame.add_uint64(kFunctionId, name);
    frame.add_uint64(kMappingId, std::uint64_t{at.file} + 1);
    frame.add_uint64(kRelativePc, at.address);
  }

  const Samples& samples_;
  CodePlaces& places_;
  std::vector<bool> stacks_, files_, names_;
  std::map<std::uint32_t, std::uint64_t> frames_;  // iid of the innermost place
  std::uint64_t next_frame_ = 1;
};

}  // namespace

// What was interned, by event.
class SampleWriter::Names {
 public:
  explicit Names(const Samples& samples)
      : places_(samples, SampleBy::kFunction) {
    places_.Expect({});
  }
  // Before the first of an event: also its sequence.
  Stacks& Of(const Samples& samples, std::uint32_t event, Packets& packets) {
    const auto [found, added] = stacks_.try_emplace(event, samples, places_);
    if (added) {
      packets.Begin(kSamples + event, [&](Message& packet) {
        Message defaults(packet, kPacketDefaults);
        defaults.add_uint32(kDefaultClockId, kMonotonic);
        Message of(defaults, kPerfSampleDefaults);
        Message timebase(of, kTimebase);
        AddText(timebase, kTimebaseName, samples.events[event].name);
      });
    }
    return found->second;
  }

 private:
  CodePlaces places_;
  std::map<std::uint32_t, Stacks> stacks_;
};

SampleWriter::SampleWriter(const Report& report, Packets& packets)
    : report_(report), packets_(packets) {
  for (const ThreadRow& row : report.threads) threads_[row.index] = &row;
}

SampleWriter::~SampleWriter() = default;

void SampleWriter::Add(const Samples& samples, const TimedSample& sample) {
  if (names_ == nullptr) names_ = std::make_unique<Names>(samples);
  Stacks& stacks = names_->Of(samples, sample.event, packets_);
  const auto row = threads_.find(samples.contexts[sample.context].thread);
  packets_.Add(kSamples + sample.event, kNeedsState, [&](Message& packet) {
    packet.add_uint64(kTimestamp, sample.time_ns);
    if (sample.frame != 0) stacks.Intern(packet, sample.frame);
    Message of(packet, kPerfSample);
    if (row != threads_.end()) {
      of.add_uint32(kSamplePid, static_cast<std::uint32_t>(row->second->pid));
      of.add_uint32(kSampleTid, static_cast<std::uint32_t>(row->second->tid));
    }
    if (sample.frame != 0) of.add_uint64(kCallstackId, sample.frame);
  });
}

void SampleWriter::Finish(const Samples& samples) {
  if (samples.events.empty() || samples.lost_records == 0) return;
  if (names_ == nullptr) names_ = std::make_unique<Names>(samples);
  names_->Of(samples, 0, packets_);
  packets_.Add(kSamples, kNeedsState, [&](Message& packet) {
    packet.add_uint64(kTimestamp, report_.end_ns);
    Message(packet, kPerfSample)
        .add_uint64(kKernelRecordsLost, samples.lost_records);
  });
}

}  // namespace countrace::rmap::perfetto
