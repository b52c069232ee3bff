#pragma once

#include <filesystem>
#include <string>

#include "aot/reach/question/question_text.h"

namespace bf_aot::reach {

// Reads a question as docs/reference/reach-schema.json describes it. Networks are found from the
// file's folder. Throws: BF3001 to BF3008 for what is no such file.
QuestionText read_question(const std::filesystem::path& path);

// Parses the same. `where`: for messages; `folder`: that the paths of networks start from.
QuestionText parse_question(const std::string& text, const std::string& where,
                            const std::filesystem::path& folder);

}  // namespace bf_aot::reach
