#pragma once

#include "core/encoding/encoding.h"
#include "core/profile/profile.h"
#include "core/record/call.h"
#include "core/record/request_map.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope::encoding {

/// Decodes the words of one location, chunk by chunk in order, into calls in the order of their
/// return. Times are in ticks, also in fields called _ns. Untrusted input: an invalid record ends
/// the chunk and is counted. One thread.
class CallDecoder {
 public:
  /// Begins the next chunk. words: must stay valid while the chunk is read. base_ticks: time base
  /// of the chunk.
  void begin_chunk(std::span<const Word> words, std::uint64_t base_ticks);
  /// Skips the facts at the begin of the chunk: the call that they belong to is missing, because
  /// the chunk before is.
  void skip_facts();
  /// Reads the next complete call. Its facts are valid until the next call of next() or
  /// begin_chunk(). Returns false at the end of the chunk. A call at the end of the chunk is held
  /// back, because its facts may continue in the next chunk. It is returned after the next
  /// begin_chunk(), or by flush() after the last chunk.
  bool next(Call& call);
  bool flush(Call& call);
  /// Adds each remaining call of the chunk to a profile. The result is that of next() and
  /// Profile::add() for each; it is faster, because most calls are never decoded into a Call.
  /// Returns the number of calls.
  std::uint64_t add_all_to(Profile& profile);

  /// Returns word 0 of the last call of depth 0 as stored in the trace. If word 0 of the
  /// mark (what the thread stored when it last entered a call) is equal, that call has returned and
  /// is recorded.
  Word last_outer_word() const { return last_outer_word_; }
  std::uint64_t base_ticks() const { return base_ticks_; }
  /// Returns the number of calls held back: of the last call read if its facts may continue in the
  /// next chunk, else 0.
  std::uint64_t held_calls() const { return is_holding_ ? held_.count : 0; }
  std::uint64_t damaged_count() const { return damaged_count_; }
  std::uint64_t unknown_request_count() const { return unknown_request_count_; }

  /// Decodes a mark, the words that a thread stores when it enters a call, into the call and its
  /// arguments as facts. For calls that are pending at the end of the trace. Returns false if
  /// `words` are not a mark of a call.
  static bool decode_mark(std::span<const Word> words, std::uint64_t base_ticks, Call& call,
                          std::vector<Fact>& facts);

 private:
  std::size_t add_plain(const Word* words, std::uint64_t base_ticks, Profile& profile);
  std::size_t add_completions(std::span<const Word> words, Profile& profile);
  bool next_slow_path(Call& call);
  bool decode_fact(std::size_t available);
  bool decode_run(Word word, FactKind kind);
  bool resolve(Fact& fact);
  bool deliver(Call& call);

  std::span<const Word> words_;
  std::size_t at_ = 0;
  std::uint64_t base_ticks_ = 0;
  Call held_;
  bool is_holding_ = false;
  std::vector<Fact> facts_;      ///< facts of the held call
  std::vector<Fact> delivered_;  ///< of the call returned last
  Fact folded_[2];               ///< facts in the call's own words, of the call returned last
  RequestMap<Fact> open_;
  Word last_outer_word_ = 0;
  std::uint64_t damaged_count_ = 0;
  std::uint64_t unknown_request_count_ = 0;
};

}  // namespace megascope::encoding
