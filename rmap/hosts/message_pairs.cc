#include "rmap/hosts/message_pairs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "rmap/requests/joined_calls.h"

namespace countrace::rmap {
namespace {

// `provider:name.value`
absl::StatusOr<JoinRule> SideOf(const std::string& text) {
  const std::size_t dot = text.rfind('.');
  const std::size_t colon = text.find(':');
  if (dot == text.npos || colon == text.npos || dot + 1 == text.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", text, "`: expected a hook and its value, as in net:send.id"));
  }
  JoinRule rule;
  rule.text = text;
  rule.lines.push_back(
      {std::string(text.substr(0, dot)), std::string(text.substr(dot + 1)), 1});
  return rule;
}

absl::StatusOr<HostMessages::Ends> EndsOf(
    logformat::TraceReader& reader, const JoinRule& rule,
    const logformat::ProgressCallback& progress, HostMessages& out) {
  HostMessages::Ends ends;
  const auto joined = JoinCalls(reader, rule, progress);
  if (absl::IsInvalidArgument(joined.status())) {
    out.why_none += absl::StrCat(out.why_none.empty() ? "" : "; ",
                                 joined.status().message());
    return ends;
  }
  if (!joined.ok()) return joined.status();
  out.left_out += joined->left_out;
  for (std::size_t i = 0; i < joined->all.size(); ++i) {
    const RequestCall* const call = joined->begin(i);
    if (joined->end(i) - call != 1) {
      ++out.ambiguous;
      continue;
    }
    const bool has_end = !call->is_point && !call->end_inferred;
    ends[joined->all[i].id] = {call->begin_ns, has_end ? call->end_ns : 0,
                               call->thread};
  }
  return ends;
}

void AddOrders(const HostMessages::Ends& sent,
               const HostMessages::Ends& received, bool from_a,
               std::vector<MessageOrder>& orders) {
  for (const auto& [value, send] : sent) {
    const auto found = received.find(value);
    if (found == received.end()) continue;
    const MessageEnd& receive = found->second;
    orders.push_back({send.begin_ns, receive.begin_ns, from_a});
    if (send.end_ns == 0) continue;
    orders.push_back({receive.begin_ns, send.end_ns, !from_a});
  }
}

}  // namespace

absl::StatusOr<PairsRule> ParsePairs(const std::string& text) {
  const std::vector<std::string> sides = absl::StrSplit(text, ',');
  if (sides.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pairs ", text,
                     ": expected where a message is sent and where it is "
                     "received: net:send.id,net:receive.id"));
  }
  PairsRule rule;
  rule.text = text;
  for (const auto& [side, out] :
       {std::pair{sides[0], &rule.send}, std::pair{sides[1], &rule.receive}}) {
    auto parsed = SideOf(side);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--pairs ", parsed.status().message()));
    }
    *out = *std::move(parsed);
  }
  return rule;
}

absl::StatusOr<HostMessages> MessagesOf(
    logformat::TraceReader& reader, const PairsRule& rule,
    const logformat::ProgressCallback& progress) {
  HostMessages messages;
  // One after the other: a call that is sent inside of one that was received
  // would be a part of that.
  auto sent = EndsOf(reader, rule.send, progress, messages);
  if (!sent.ok()) return sent.status();
  auto received = EndsOf(reader, rule.receive, progress, messages);
  if (!received.ok()) return received.status();
  messages.sent = *std::move(sent);
  messages.received = *std::move(received);
  return messages;
}

std::vector<MessageOrder> OrdersOf(const HostMessages& a,
                                   const HostMessages& b) {
  std::vector<MessageOrder> orders;
  AddOrders(a.sent, b.received, true, orders);
  AddOrders(b.sent, a.received, false, orders);
  return orders;
}

}  // namespace countrace::rmap
