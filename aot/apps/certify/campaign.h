#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "aot/apps/certify/results.h"

// A file that holds the results of a whole run, or of one part of it, so that the run can go on,
// and parts can be joined. Such a file is trusted to say what was done; it is no certificate.

namespace bf_aot::apps {

struct Campaign {
  std::string question;  // SHA-256 of everything that decides the results but the time they had
  CertifyRun run;        // its part and results

  bool is_part() const { return run.part.count > 1; }
};

// Returns whether a text is that of such a file, rather than of another one of this program.
bool is_campaign(const std::string& text);

std::string to_text(const Campaign& campaign);
// `where`: the file's name in messages. Throws: BF3003 to BF3007, BF3017.
Campaign parse_campaign(const std::string& text, const std::string& where);
// Throws as parse_campaign(), and BF3001, BF3002.
Campaign read_campaign(const std::filesystem::path& path);

struct NamedCampaign {
  std::string name;
  Campaign campaign;
};

// The runs that the files make together, one for each question, in the order in which they are
// named. Throws: BF3019 parts that are missing, given twice, or divided otherwise.
std::vector<CertifyRun> join_campaigns(const std::vector<NamedCampaign>& files);

// Whether no other run has at least the certified share at a radius and the clean accuracy, and
// more of one of them: the run is on the front of Pareto.
bool is_on_front(const std::vector<CertifyRun>& runs, std::size_t run, const std::string& radius);

}  // namespace bf_aot::apps
