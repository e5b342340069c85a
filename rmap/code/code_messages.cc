#include "rmap/code/code_messages.h"

#include <utility>

namespace countrace::rmap {

using base::MessageReader;
using base::MessageWriter;

namespace {

constexpr std::uint64_t kNumber = sizeof(std::uint64_t);

}  // namespace

MessageWriter Begin(CodeMessage kind) {
  MessageWriter message;
  message.Number(static_cast<std::uint64_t>(kind));
  return message;
}

CodeMessage KindOf(MessageReader& reader) {
  return static_cast<CodeMessage>(reader.Number());
}

void Write(const DebugFileQuestion& question, MessageWriter& to) {
  to.Number(static_cast<std::uint64_t>(question.kind));
  to.Text(question.name);
  to.Text(question.build_id);
  to.Number(question.number);
}

std::optional<DebugFileQuestion> ReadQuestion(MessageReader& from) {
  DebugFileQuestion question;
  question.kind = static_cast<DebugFileQuestion::Kind>(from.Number());
  question.name = from.Text();
  question.build_id = from.Text();
  question.number = from.Number();
  if (!from.good() || !from.at_end()) return std::nullopt;
  return question;
}

void Write(const OpenedCode& code, MessageWriter& to) {
  to.Text(code.build_id);
  to.Number(code.parts.size());
  for (const CodePart& part : code.parts) {
    to.Number(part.offset);
    to.Number(part.bytes);
    to.Number(part.address);
    to.Number(part.is_code ? 1 : 0);
  }
}

std::optional<OpenedCode> ReadOpened(MessageReader& from) {
  OpenedCode code;
  code.build_id = from.Text();
  code.parts.resize(from.Count(4 * kNumber));
  for (CodePart& part : code.parts) {
    part.offset = from.Number();
    part.bytes = from.Number();
    part.address = from.Number();
    part.is_code = from.Number() != 0;
  }
  if (!from.good() || !from.at_end()) return std::nullopt;
  return code;
}

void Write(const NamedAddresses& names, MessageWriter& to) {
  to.Number(names.texts.size());
  for (const std::string& text : names.texts) to.Text(text);
  to.Number(names.frames.size());
  for (const NamedAddresses::Frame& frame : names.frames) {
    to.Number(std::uint64_t{frame.function} << 32 | frame.file);
    to.Number(std::uint64_t{frame.line} << 1 | (frame.inlined ? 1 : 0));
  }
  for (const std::uint64_t end : names.ends) to.Number(end);
}

std::optional<NamedAddresses> ReadNames(MessageReader& from,
                                        std::size_t addresses) {
  NamedAddresses names;
  names.texts.resize(from.Count(kNumber));
  for (std::string& text : names.texts) text = from.Text();
  names.frames.resize(from.Count(2 * kNumber));
  for (NamedAddresses::Frame& frame : names.frames) {
    const std::uint64_t texts = from.Number(), place = from.Number();
    frame = {static_cast<std::uint32_t>(texts >> 32),
             static_cast<std::uint32_t>(texts),
             static_cast<std::uint32_t>(place >> 1), (place & 1) != 0};
    if (frame.function >= names.texts.size() ||
        frame.file >= names.texts.size()) {
      return std::nullopt;
    }
  }
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < addresses; ++i) {
    const std::uint64_t end = from.Number();
    if (end <= last || end > names.frames.size()) return std::nullopt;
    names.ends.push_back(last = end);
  }
  if (!from.good() || !from.at_end()) return std::nullopt;
  return names;
}

void Write(const CodeSymbolAt& symbol, MessageWriter& to) {
  to.Text(symbol.name);
  to.Number(symbol.into);
  to.Number(symbol.bytes);
  to.Number(symbol.is_function ? 1 : 0);
}

std::optional<CodeSymbolAt> ReadSymbol(MessageReader& from) {
  CodeSymbolAt symbol;
  symbol.name = from.Text();
  symbol.into = from.Number();
  symbol.bytes = from.Number();
  symbol.is_function = from.Number() != 0;
  if (!from.good()) return std::nullopt;
  return symbol;
}

void Write(const std::vector<Instruction>& code, MessageWriter& to) {
  to.Number(code.size());
  for (const Instruction& one : code) {
    to.Number(one.address);
    to.Text(one.text);
  }
}

std::optional<std::vector<Instruction>> ReadInstructions(MessageReader& from) {
  std::vector<Instruction> code(from.Count(2 * kNumber));
  for (Instruction& one : code) {
    one.address = from.Number();
    one.text = from.Text();
  }
  if (!from.good() || !from.at_end()) return std::nullopt;
  return code;
}

}  // namespace countrace::rmap
