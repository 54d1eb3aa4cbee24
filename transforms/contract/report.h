// What `contract` made anew, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ct {

struct Contraction {
  std::string name;           // primitive, result, the user's line
  std::string formula;        // of its largest term: "btm,btn,bsm,bsn->b"; 1[…] compares an index with integers
  double operations = 0;      // of floating point: a multiply-add is two
  int64_t blocks = 1;         // that its largest term is made in
  int64_t bytes_avoided = 0;  // of what was larger than its factors, and is not stored; with the first of a group
};

// While one lives, `contract` on this thread adds to it.
class Contractions {
 public:
  Contractions();
  ~Contractions();
  Contractions(const Contractions&) = delete;
  Contractions& operator=(const Contractions&) = delete;
  std::vector<Contraction> found;

  static Contractions* current();

 private:
  Contractions* enclosing_;
};

}  // namespace ct
