// What a checkpoint policy lets reverse mode save. A policy is a text, clauses joined by "|", of which one must hold:
//   everything | dots | dots_without_batch | primitives:a,b | names:a,b | other_names:a,b | all_but_names:a,b
// The empty text saves nothing. The other names are those of `tag` equations; other_names saves tagged values only.
#pragma once

#include <string>

#include "transforms/split.h"

namespace ct {

// Everything is made again that the policy does not save.
Remake remake_by_policy(std::string policy);

}  // namespace ct
