#include "logformat/import/perf/record_reader.h"

#include <zstd.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/import/perf/byte_reader.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

RecordReader::RecordReader(std::span<const std::byte> bytes,
                           const FileDescription& file)
    : bytes_(bytes), file_(file), at_(file.data_begin) {}

RecordReader::~RecordReader() { ZSTD_freeDCtx(unpacker_); }

absl::Status RecordReader::Wrong(std::uint64_t offset,
                                 const std::string& what) const {
  return absl::InvalidArgumentError(
      absl::StrFormat("At offset %d of %d bytes: %s: the file is damaged",
                      offset, bytes_.size(), what));
}

absl::Status RecordReader::Unpack(std::span<const std::byte> packed,
                                  std::uint64_t offset) {
  if (unpacker_ == nullptr) unpacker_ = ZSTD_createDCtx();
  if (unpacker_ == nullptr) {
    return absl::ResourceExhaustedError("No memory to unpack zstd");
  }
  auto block = std::make_shared<std::vector<std::byte>>();
  // A record may begin in one block and end in the next.
  if (block_ != nullptr) {
    block->assign(block_->begin() + static_cast<std::ptrdiff_t>(block_at_),
                  block_->end());
  }
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (bool full = true; in.pos < in.size || full;) {
    const std::size_t begin = block->size();
    if (begin > kMaxBlockBytes) {
      return Wrong(offset, absl::StrFormat("more than %d bytes in one "
                                           "compressed record of %d",
                                           kMaxBlockBytes, packed.size()));
    }
    block->resize(begin + ZSTD_DStreamOutSize());
    ZSTD_outBuffer out{block->data() + begin, block->size() - begin, 0};
    const std::size_t before = in.pos;
    const std::size_t left = ZSTD_decompressStream(unpacker_, &out, &in);
    block->resize(begin + out.pos);
    if (ZSTD_isError(left) != 0) {
      return Wrong(offset,
                   absl::StrFormat("zstd: %s in a compressed record "
                                   "of %d bytes",
                                   ZSTD_getErrorName(left), packed.size()));
    }
    full = out.pos == out.size;
    if (in.pos == before && out.pos == 0) break;
  }
  block_ = std::move(block);
  block_at_ = 0;
  block_offset_ = offset;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<RawRecord>> RecordReader::Next() {
  while (true) {
    RawRecord record;
    const auto left_in_block =
        block_ == nullptr
            ? std::span<const std::byte>()
            : std::span<const std::byte>(*block_).subspan(block_at_);
    if (left_in_block.size() >= kRecordHeaderBytes) {
      record.offset = block_offset_;
      const std::size_t size = ReadHead(left_in_block, record);
      if (size < kRecordHeaderBytes) return TooShort(record, size);
      if (size <= left_in_block.size()) {
        record.body = left_in_block.subspan(kRecordHeaderBytes,
                                            size - kRecordHeaderBytes);
        record.block = block_;
        block_at_ += size;
        return record;
      }
      // The rest is in the next block.
    }
    if (at_ >= file_.data_end) break;
    const auto left =
        bytes_.subspan(static_cast<std::size_t>(at_),
                       static_cast<std::size_t>(file_.data_end - at_));
    record.offset = at_;
    const std::size_t size = ReadHead(left, record);
    if (size > left.size() && file_.unfinished) break;
    if (size < kRecordHeaderBytes || size > left.size()) {
      return Wrong(at_, absl::StrFormat("a record of type %d and %d bytes "
                                        "where %d are left",
                                        record.type, size, left.size()));
    }
    at_ += size;
    record.body = left.subspan(kRecordHeaderBytes, size - kRecordHeaderBytes);
    if (record.type != kCompressed && record.type != kCompressed2) {
      if (absl::Status status = SkipData(record); !status.ok()) return status;
      return record;
    }
    ByteReader body(record.body, file_.swapped);
    const std::uint64_t packed =
        record.type == kCompressed ? body.left() : body.U64();
    if (packed > body.left()) {
      return Wrong(record.offset,
                   absl::StrFormat("%d compressed bytes in a record of %d",
                                   packed, size));
    }
    if (absl::Status status = Unpack(body.Bytes(packed), record.offset);
        !status.ok()) {
      return status;
    }
  }
  if (block_ != nullptr && block_at_ != block_->size() && !file_.unfinished) {
    return Wrong(block_offset_,
                 absl::StrFormat("the last %d bytes of the compressed records "
                                 "are no whole record",
                                 block_->size() - block_at_));
  }
  return std::nullopt;
}

// Returns the record's size according to its header; 2^16 if the header is
// incomplete.
std::size_t RecordReader::ReadHead(std::span<const std::byte> bytes,
                                   RawRecord& record) const {
  ByteReader head(bytes, file_.swapped);
  record.type = head.U32();
  record.misc = head.U16();
  const std::size_t size = head.U16();
  return head.ok() ? size : std::size_t{1} << 16;
}

absl::Status RecordReader::TooShort(const RawRecord& record,
                                    std::size_t size) const {
  return Wrong(record.offset,
               absl::StrFormat("a compressed record of type %d has %d bytes "
                               "instead of at least %d",
                               record.type, size, kRecordHeaderBytes));
}

// Skips the bytes after some records that are not records themselves.
absl::Status RecordReader::SkipData(const RawRecord& record) {
  ByteReader body(record.body, file_.swapped);
  std::uint64_t more = 0;
  if (record.type == kHeaderTracingData) {
    more = (std::uint64_t{body.U32()} + 7) / 8 * 8;
  } else if (record.type == kAuxtrace) {
    more = body.U64();
  }
  if (!body.ok() || more > file_.data_end - at_) {
    return Wrong(record.offset,
                 absl::StrFormat("%d bytes follow a record of type %d where "
                                 "%d are left",
                                 more, record.type, file_.data_end - at_));
  }
  at_ += more;
  return absl::OkStatus();
}

}  // namespace countrace::importer::perf
