#include "rmap/code/code_service.h"

#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

namespace countrace::rmap {

using base::Message;
using base::MessageReader;
using base::MessageWriter;
using base::ScopedFd;

namespace {

// What `countrace` sends has no more.
constexpr std::uint64_t kMostRequestBytes = std::uint64_t{1} << 20;

MessageWriter Failed(const absl::Status& status) {
  MessageWriter answer = Begin(CodeMessage::kFailed);
  answer.Text(std::string(status.message()));
  return answer;
}

}  // namespace

void CodeService::Run() {
  Message request;
  while (base::ReceiveMessage(socket_, kMostRequestBytes, request) &&
         base::SendMessage(socket_, Answer(request).text())) {
  }
}

MessageWriter CodeService::Answer(Message& request) {
  MessageReader reader(request.text);
  const CodeMessage kind = KindOf(reader);
  const std::uint64_t number = reader.Number();
  if (kind == CodeMessage::kOpen) {
    return Open(number, std::move(request.file));
  }
  const auto kept = files_.find(number);
  if (kept == files_.end()) return Begin(CodeMessage::kNoFile);
  CodeImage& image = *kept->second.image;
  MessageWriter answer = Begin(CodeMessage::kAnswer);
  if (kind == CodeMessage::kClose) {
    bytes_ -= kept->second.bytes;
    files_.erase(kept);
    room_(bytes_);
    return answer;
  }
  if (kind == CodeMessage::kInstructions) {
    const std::uint64_t begin = reader.Number(), end = reader.Number();
    const auto code = image.InstructionsOf(begin, end);
    if (!code.ok()) return Failed(code.status());
    Write(*code, answer);
    return answer;
  }
  std::vector<std::uint64_t> addresses;
  while (reader.good() && !reader.at_end()) {
    addresses.push_back(reader.Number());
  }
  if (kind == CodeMessage::kNames) {
    Write(image.NamesOf(addresses), answer);
  } else {
    for (const std::uint64_t address : addresses) {
      Write(image.SymbolAt(address), answer);
    }
  }
  return answer;
}

ScopedFd CodeService::Admit(ScopedFd file, Kept& kept) {
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return ScopedFd();
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > kCodeFileBytes - bytes_) return ScopedFd();
  kept.bytes += bytes;
  bytes_ += bytes;
  room_(bytes_);
  return file;
}

MessageWriter CodeService::Open(std::uint64_t number, ScopedFd file) {
  Kept& kept = files_[number];
  const auto give_up = [&](MessageWriter answer) {
    bytes_ -= kept.bytes;
    files_.erase(number);
    room_(bytes_);
    return answer;
  };
  ScopedFd admitted = Admit(std::move(file), kept);
  if (!admitted.is_open()) return give_up(Begin(CodeMessage::kTooLarge));
  auto image = CodeImage::Open(
      std::move(admitted),
      [this, number, questions = 0](const DebugFileQuestion& asked) mutable {
        if (++questions > kMostQuestions) return ScopedFd();
        return Admit(Ask(asked), files_[number]);
      });
  if (!image.ok()) return give_up(Failed(image.status()));
  MessageWriter answer = Begin(CodeMessage::kAnswer);
  Write((*image)->opened(), answer);
  kept.image = *std::move(image);
  return answer;
}

ScopedFd CodeService::Ask(const DebugFileQuestion& question) {
  MessageWriter asked = Begin(CodeMessage::kQuestion);
  Write(question, asked);
  Message answer;
  if (!base::SendMessage(socket_, asked.text()) ||
      !base::ReceiveMessage(socket_, kMostRequestBytes, answer)) {
    return ScopedFd();
  }
  return std::move(answer.file);
}

}  // namespace countrace::rmap
