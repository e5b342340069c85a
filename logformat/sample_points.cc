#include "logformat/sample_points.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "logformat/packet_layout.h"

namespace countrace::logformat {
namespace {

struct PointLayout {
  SamplePoint point;
  SampleData data;
  const char* name;  // null: that of the event
  std::vector<PayloadType> types;
  std::vector<std::string> values;
};

const std::vector<PointLayout>& Layouts() {
  constexpr auto kUnsigned = PayloadType::kUnsigned;
  constexpr auto kPointer = PayloadType::kPointer;
  constexpr auto kString = PayloadType::kString;
  static const auto& layouts = *new std::vector<PointLayout>{
      {SamplePoint::kSample,
       SampleData::kNone,
       nullptr,
       {kUnsigned, kUnsigned},
       {"period", "stack"}},
      {SamplePoint::kSample,
       SampleData::kAddress,
       nullptr,
       {kUnsigned, kUnsigned, kUnsigned, kPointer},
       {"period", "stack", "area", "address"}},
      {SamplePoint::kSample,
       SampleData::kSource,
       nullptr,
       {kUnsigned, kUnsigned, kUnsigned, kPointer, kUnsigned, kUnsigned},
       {"period", "stack", "area", "address", "source", "weight"}},
      {SamplePoint::kFrame,
       SampleData::kNone,
       "frame",
       {kUnsigned, kUnsigned, kUnsigned, kPointer},
       {"id", "parent", "file", "address"}},
      {SamplePoint::kFile,
       SampleData::kNone,
       "file",
       {kUnsigned, kString, kString},
       {"file", "build_id", "path"}},
      {SamplePoint::kSymbol,
       SampleData::kNone,
       "symbol",
       {kUnsigned, kPointer, kUnsigned, kString},
       {"file", "begin", "bytes", "symbol"}},
      {SamplePoint::kTimedSymbol,
       SampleData::kNone,
       "timed_symbol",
       {kUnsigned, kPointer, kUnsigned, kUnsigned, kUnsigned, kString},
       {"file", "begin", "bytes", "from", "until", "symbol"}},
      {SamplePoint::kCount,
       SampleData::kNone,
       "count",
       std::vector<PayloadType>(kCountNumbers, kUnsigned),
       {"hook", "counted", "idle", "outside", "lost", "throttled"}},
      {SamplePoint::kShort,
       SampleData::kNone,
       "short",
       std::vector<PayloadType>(kShortNumbers, kUnsigned),
       {"hook", "shorter", "shorter_ns", "lost_ns", "unseen"}},
      {SamplePoint::kArea,
       SampleData::kNone,
       "area",
       {kUnsigned, kUnsigned, kPointer, kUnsigned, kPointer, kUnsigned},
       {"area", "file", "start", "bytes", "offset", "thread"}}};
  return layouts;
}

// Null: the hook is none of them.
const PointLayout* LayoutOf(const HookInfo& hook) {
  if (hook.origin != HookOrigin::kKernel || hook.kind != HookKind::kPoint ||
      hook.provider != kSampleProvider) {
    return nullptr;
  }
  for (const PointLayout& layout : Layouts()) {
    if (hook.payload_names == layout.values && hook.payload == layout.types) {
      return &layout;
    }
  }
  return nullptr;
}

}  // namespace

HookInfo DescribeSamplePoint(SamplePoint point, const std::string& name,
                             const std::string& location, SampleData data) {
  HookInfo hook;
  hook.kind = HookKind::kPoint;
  hook.origin = HookOrigin::kKernel;
  hook.provider = kSampleProvider;
  for (const PointLayout& layout : Layouts()) {
    if (layout.point != point || layout.data != data) continue;
    hook.name = layout.name != nullptr ? layout.name : name;
    hook.location = layout.name != nullptr ? std::string(kNoText) : location;
    hook.payload = layout.types;
    hook.payload_names = layout.values;
  }
  return hook;
}

SamplePoint SamplePointOf(const HookInfo& hook) {
  const PointLayout* const layout = LayoutOf(hook);
  return layout == nullptr ? SamplePoint::kNone : layout->point;
}

SampleData SampleDataOf(const HookInfo& hook) {
  const PointLayout* const layout = LayoutOf(hook);
  return layout == nullptr ? SampleData::kNone : layout->data;
}

std::string TwoPeriodsText(std::uint64_t one, std::uint64_t other) {
  return absl::StrFormat("every %d and %d", std::min(one, other),
                         std::max(one, other));
}

bool IsOfTwoPeriods(const std::string& location) {
  return location.starts_with("every ") &&
         location.find(" and ") != std::string::npos;
}

std::vector<std::byte> SampleRecordBody(std::uint64_t ids,
                                        std::span<const std::uint64_t> numbers,
                                        std::span<const std::string> texts) {
  std::vector<std::byte> body(sizeof(ids) + numbers.size_bytes());
  std::memcpy(body.data(), &ids, sizeof(ids));
  if (!numbers.empty()) {
    std::memcpy(body.data() + sizeof(ids), numbers.data(),
                numbers.size_bytes());
  }
  for (const std::string& text : texts) {
    const std::size_t bytes =
        std::min({text.size(), text.find('\0'), kMaxStringBytes - 1});
    const auto* const data = reinterpret_cast<const std::byte*>(text.data());
    body.insert(body.end(), data, data + bytes);
    body.push_back(std::byte{0});
  }
  return body;
}

}  // namespace countrace::logformat
