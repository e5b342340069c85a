#include "rmap/samples/code/listing_json.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::rmap {
namespace {

using Json = nlohmann::ordered_json;

void AddSelf(const SampledAmount& amount, Json& to) {
  to["self_samples"] = amount.hits;
  to["self"] = amount.value;
  to["self_lo"] = amount.lo;
  to["self_hi"] = amount.hi;
}

}  // namespace

Json ListingJson(const Listing& listing) {
  const Annotation& annotation = listing.annotation;
  Json out;
  out["schema"] = "countrace.annotation/1";
  out["function"] = annotation.function;
  out["dso"] = annotation.dso.path;
  out["events"] = Json::array();
  for (std::uint32_t event = 0; event < annotation.self.size(); ++event) {
    Json one;
    one["event"] = listing.events[event];
    AddSelf(annotation.self[event], one);
    one["lines"] = Json::array();
    for (const AnnotatedLine& line : annotation.lines) {
      if (line.event != event) continue;
      Json row;
      row["file"] = nullptr;
      row["line"] = nullptr;
      if (!line.file.empty()) row["file"] = line.file;
      if (line.line != 0) row["line"] = line.line;
      row["text"] = nullptr;
      if (const auto text = LineText(listing, line.file, line.line)) {
        row["text"] = *text;
      }
      AddSelf(line.self, row);
      one["lines"].push_back(std::move(row));
    }
    std::map<std::uint64_t, const AnnotatedAddress*> hit;
    for (const AnnotatedAddress& address : annotation.addresses) {
      if (address.event == event) hit[address.address] = &address;
    }
    one["addresses"] = Json::array();
    const auto add = [&](std::uint64_t address, const std::string& function,
                         bool inlined, const std::string& file,
                         std::uint32_t line, const std::string* instruction,
                         const SampledAmount& amount) {
      Json row;
      row["address"] = absl::StrFormat("0x%x", address);
      row["function"] = function;
      row["inlined"] = inlined;
      row["file"] = nullptr;
      row["line"] = nullptr;
      if (!file.empty()) row["file"] = file;
      if (line != 0) row["line"] = line;
      row["instruction"] = nullptr;
      if (instruction != nullptr) row["instruction"] = *instruction;
      AddSelf(amount, row);
      one["addresses"].push_back(std::move(row));
    };
    for (const ListedInstruction& each : listing.instructions) {
      const CodeName& name = each.innermost;
      const auto found = hit.find(each.instruction.address);
      add(each.instruction.address, name.function, name.inlined, name.file,
          name.line, &each.instruction.text,
          found == hit.end() ? SampledAmount{} : found->second->self);
      if (found != hit.end()) hit.erase(found);
    }
    // Addresses that are no instruction's begin, or were not disassembled.
    for (const auto& [address, each] : hit) {
      add(address, each->function, each->inlined, each->file, each->line,
          nullptr, each->self);
    }
    out["events"].push_back(std::move(one));
  }
  out["notes"] = listing.notes;
  return out;
}

}  // namespace countrace::rmap
