#pragma once

#include "core/record/call.h"
#include "core/record/encoding.h"
#include "core/record/id_map.h"
#include "core/record/profile.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope::trace {

/// Turns the words of one location, chunk by chunk in order, into calls in the order of their
/// return. Times in ticks (in the fields called _ns: this is the lowest level). Untrusted input:
/// what cannot be a record ends the chunk and is counted. One thread.
class CallDecoder {
 public:
  /// Begins the next chunk: its words and its time base. The words must stay valid while the chunk
  /// is read.
  void begin_chunk(std::span<const encoding::Word> words, std::uint64_t base_ticks);
  /// The next whole call, its facts valid until the next call to `next` or `begin_chunk`. False at
  /// the chunk's end: begin the next one; a call whose facts go on in the next chunk is delivered
  /// from there. After the last chunk, `flush` delivers what is still held.
  bool next(Call& call);
  bool flush(Call& call);
  /// The same as adding each call that `next` would deliver, in less time: most calls never become
  /// a Call. Returns their number.
  std::uint64_t add_all_to(Profile& profile);

  /// Word 0 of the last call of depth 0, as it stood in the trace: tells whether a pending call has
  /// been recorded.
  encoding::Word last_outer_word() const { return last_outer_word_; }
  std::uint64_t base_ticks() const { return base_ticks_; }
  std::uint64_t damaged_count() const { return damaged_count_; }
  std::uint64_t unknown_request_count() const { return unknown_request_count_; }

  /// Decodes a pending call's mark: the call, and what it was called with. False when there is
  /// none.
  static bool decode_mark(std::span<const encoding::Word> words, std::uint64_t base_ticks,
                          Call& call, std::vector<Fact>& facts);

 private:
  std::size_t add_plain(const encoding::Word* words, std::uint64_t base_ticks, Profile& profile);
  std::size_t add_completions(std::span<const encoding::Word> words, Profile& profile);
  bool next_slowly(Call& call);
  bool decode_fact(std::size_t available);
  bool decode_run(encoding::Word word, FactKind kind);
  bool resolve(Fact& fact);
  bool deliver(Call& call);

  std::span<const encoding::Word> words_;
  std::size_t at_ = 0;
  std::uint64_t base_ticks_ = 0;
  Call held_;
  bool is_holding_ = false;
  std::vector<Fact> facts_;      ///< of the held call
  std::vector<Fact> delivered_;  ///< of the call delivered last
  Fact folded_[2];               ///< of a call without further facts, delivered last
  RequestMap<Fact> open_;
  encoding::Word last_outer_word_ = 0;
  std::uint64_t damaged_count_ = 0;
  std::uint64_t unknown_request_count_ = 0;
};

}  // namespace megascope::trace
