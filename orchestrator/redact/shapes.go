package redact

import "bytes"

// classBits are classes of bytes, a bit each.
type classBits uint16

const (
	digits   classBits = 1 << iota // 0-9
	hexes                          // 0-9a-f
	uppers                         // A-Z0-9
	lowers                         // a-z0-9
	word                           // A-Za-z0-9
	wordLow                        // and _
	wordDash                       // and -
	url64                          // and _ -
	dotted                         // and _ - .
	std64                          // and + / =
	bearer                         // all that a credential of HTTP may have
	userinfo                       // of a URL
)

// classes are those of each byte.
var classes = func() (t [256]classBits) {
	for i := range t {
		b := byte(i)
		digit, low, up := b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z'
		add := func(is bool, c classBits) {
			if is {
				t[i] |= c
			}
		}
		in := func(more string) bool { return digit || low || up || bytes.IndexByte([]byte(more), b) >= 0 }
		add(digit, digits)
		add(digit || b >= 'a' && b <= 'f', hexes)
		add(digit || up, uppers)
		add(digit || low, lowers)
		add(in(""), word)
		add(in("_"), wordLow)
		add(in("-"), wordDash)
		add(in("_-"), url64)
		add(in("_-."), dotted)
		add(in("+/="), std64)
		add(in("_-.~+/="), bearer)
		add(in("_-.~!$&'()*+,;=%:"), userinfo)
	}
	return t
}()

// shape is how the tokens of one kind look: a prefix, and a run of one class of bytes. What
// goes on in the class belongs to the token, however long it is.
type shape struct {
	name   string
	prefix string
	class  classBits
	least  int    // bytes behind the prefix
	alone  bool   // only where no word goes on: the prefix occurs in other words
	keep   bool   // the prefix is no secret, and stays
	rest   follow // instead of class and least; nil for none
	source string // the vendor's page that shows the token, or the standard
}

// follow matches what follows a prefix: text begins with the prefix.
type follow func(text []byte, prefix int, final bool) (n int, v verdict)

func (s *shape) kept() string {
	if s.keep {
		return s.prefix
	}
	return ""
}

func (s *shape) match(text []byte, final bool) (n int, open bool, v verdict) {
	if s.rest != nil {
		n, v = s.rest(text, len(s.prefix), final)
		return n, false, v
	}
	for n = len(s.prefix); n < len(s.prefix)+s.least; n++ {
		if n == len(text) {
			if final {
				return 0, false, no
			}
			return 0, false, more
		}
		if classes[text[n]]&s.class == 0 {
			return 0, false, no
		}
	}
	return n, true, yes
}

// shapes are the tokens that are known. Lengths are what the page or its example shows, rounded
// down where the vendor promises none.
func shapes() []shape {
	return []shape{
		{name: "GitHub token", prefix: "ghp_", class: word, least: 30, source: "docs.github.com: About authentication to GitHub, GitHub's token formats"},
		{name: "GitHub token", prefix: "gho_", class: word, least: 30, source: "docs.github.com: About authentication to GitHub, GitHub's token formats"},
		{name: "GitHub token", prefix: "ghu_", class: word, least: 30, source: "docs.github.com: About authentication to GitHub, GitHub's token formats"},
		{name: "GitHub token", prefix: "ghs_", class: word, least: 30, source: "docs.github.com: About authentication to GitHub, GitHub's token formats"},
		{name: "GitHub token", prefix: "ghr_", class: word, least: 30, source: "docs.github.com: About authentication to GitHub, GitHub's token formats"},
		{name: "GitHub token", prefix: "github_pat_", class: wordLow, least: 36, source: "docs.github.com: Managing your personal access tokens, fine-grained"},
		{name: "GitLab token", prefix: "glpat-", class: dotted, least: 20, source: "docs.gitlab.com: GitLab token overview, Token prefixes"},
		{name: "GitLab token", prefix: "gldt-", class: dotted, least: 20, source: "docs.gitlab.com: GitLab token overview, Token prefixes (deploy)"},
		{name: "GitLab token", prefix: "glrt-", class: dotted, least: 20, source: "docs.gitlab.com: GitLab token overview, Token prefixes (runner)"},
		{name: "GitLab token", prefix: "glptt-", class: dotted, least: 20, source: "docs.gitlab.com: GitLab token overview, Token prefixes (trigger)"},
		{name: "GitLab token", prefix: "glcbt-", class: dotted, least: 20, source: "docs.gitlab.com: GitLab token overview, Token prefixes (CI job)"},
		{name: "GitLab token", prefix: "gloas-", class: dotted, least: 20, source: "docs.gitlab.com: GitLab token overview, Token prefixes (OAuth application)"},
		{name: "AWS access key", prefix: "AKIA", class: uppers, least: 16, source: "docs.aws.amazon.com: IAM identifiers, Unique ID prefixes"},
		{name: "AWS access key", prefix: "ASIA", class: uppers, least: 16, source: "docs.aws.amazon.com: IAM identifiers, Unique ID prefixes (temporary)"},
		{name: "AWS Bedrock key", prefix: "ABSK", class: std64, least: 60, alone: true, source: "docs.aws.amazon.com: Amazon Bedrock API keys"},
		{name: "Anthropic key", prefix: "sk-ant-", class: url64, least: 24, alone: true, source: "docs.anthropic.com: API overview, Authentication"},
		{name: "OpenAI key", prefix: "sk-proj-", class: url64, least: 32, alone: true, source: "platform.openai.com: API reference, Authentication (project keys)"},
		{name: "OpenAI key", prefix: "sk-svcacct-", class: url64, least: 32, alone: true, source: "platform.openai.com: API reference, Authentication (service accounts)"},
		{name: "OpenAI key", prefix: "sk-admin-", class: url64, least: 32, alone: true, source: "platform.openai.com: API reference, Admin API keys"},
		{name: "OpenAI key", prefix: "sk-", class: word, least: 32, alone: true, source: "platform.openai.com: API reference, Authentication (user keys)"},
		{name: "OpenRouter key", prefix: "sk-or-v1-", class: hexes, least: 32, alone: true, source: "openrouter.ai/docs: API Authentication"},
		{name: "Slack token", prefix: "xoxb-", class: wordDash, least: 20, source: "api.slack.com: Token types (bot)"},
		{name: "Slack token", prefix: "xoxp-", class: wordDash, least: 20, source: "api.slack.com: Token types (user)"},
		{name: "Slack token", prefix: "xoxa-", class: wordDash, least: 20, source: "api.slack.com: Token types (workspace)"},
		{name: "Slack token", prefix: "xoxr-", class: wordDash, least: 20, source: "api.slack.com: Token rotation (refresh, legacy)"},
		{name: "Slack token", prefix: "xoxs-", class: wordDash, least: 20, source: "api.slack.com: Legacy tokens"},
		{name: "Slack token", prefix: "xoxe-", class: wordDash, least: 20, source: "api.slack.com: Token rotation (refresh)"},
		{name: "Slack token", prefix: "xoxe.xoxp-", class: wordDash, least: 20, source: "api.slack.com: Token rotation (access)"},
		{name: "Slack token", prefix: "xapp-", class: wordDash, least: 20, source: "api.slack.com: Token types (app-level)"},
		{name: "Slack webhook", prefix: "hooks.slack.com/services/", class: bearer, least: 20, keep: true, source: "api.slack.com: Sending messages using incoming webhooks"},
		{name: "Stripe key", prefix: "sk_live_", class: word, least: 16, source: "docs.stripe.com: API keys"},
		{name: "Stripe key", prefix: "sk_test_", class: word, least: 16, source: "docs.stripe.com: API keys"},
		{name: "Stripe key", prefix: "rk_live_", class: word, least: 16, source: "docs.stripe.com: API keys (restricted)"},
		{name: "Stripe key", prefix: "rk_test_", class: word, least: 16, source: "docs.stripe.com: API keys (restricted)"},
		{name: "Stripe webhook secret", prefix: "whsec_", class: std64, least: 24, source: "docs.stripe.com: Webhooks, Verify signatures"},
		{name: "Google API key", prefix: "AIza", class: url64, least: 35, source: "cloud.google.com: Manage API keys"},
		{name: "Google OAuth secret", prefix: "GOCSPX-", class: url64, least: 20, source: "developers.google.com: Using OAuth 2.0 to access Google APIs"},
		{name: "Google OAuth token", prefix: "ya29.", class: dotted, least: 30, source: "developers.google.com: Using OAuth 2.0 to access Google APIs"},
		{name: "npm token", prefix: "npm_", class: word, least: 36, alone: true, source: "docs.npmjs.com: About access tokens; github.blog: npm access token format"},
		{name: "PyPI token", prefix: "pypi-", class: url64, least: 50, alone: true, source: "pypi.org: Help, How can I use API tokens"},
		{name: "RubyGems key", prefix: "rubygems_", class: hexes, least: 40, source: "guides.rubygems.org: API key scopes"},
		{name: "crates.io token", prefix: "cio", class: word, least: 32, alone: true, source: "doc.rust-lang.org/cargo: Publishing on crates.io"},
		{name: "Hugging Face token", prefix: "hf_", class: word, least: 30, alone: true, source: "huggingface.co/docs: User access tokens"},
		{name: "DigitalOcean token", prefix: "dop_v1_", class: hexes, least: 60, source: "docs.digitalocean.com: Create a personal access token"},
		{name: "DigitalOcean token", prefix: "doo_v1_", class: hexes, least: 60, source: "docs.digitalocean.com: OAuth API"},
		{name: "DigitalOcean token", prefix: "dor_v1_", class: hexes, least: 60, source: "docs.digitalocean.com: OAuth API (refresh)"},
		{name: "SendGrid key", prefix: "SG.", class: dotted, least: 60, alone: true, source: "sendgrid.com/docs: API keys"},
		{name: "Twilio key", prefix: "SK", class: hexes, least: 32, alone: true, source: "twilio.com/docs: API keys, the SID"},
		{name: "Shopify token", prefix: "shpat_", class: word, least: 32, source: "shopify.dev: Access tokens (admin)"},
		{name: "Shopify token", prefix: "shpca_", class: word, least: 32, source: "shopify.dev: Access tokens (custom app)"},
		{name: "Shopify token", prefix: "shppa_", class: word, least: 32, source: "shopify.dev: Access tokens (private app)"},
		{name: "Shopify secret", prefix: "shpss_", class: word, least: 32, source: "shopify.dev: App credentials (shared secret)"},
		{name: "Linear key", prefix: "lin_api_", class: word, least: 32, source: "linear.app/developers: GraphQL, personal API keys"},
		{name: "Linear token", prefix: "lin_oauth_", class: word, least: 32, source: "linear.app/developers: OAuth 2.0"},
		{name: "Databricks token", prefix: "dapi", class: hexes, least: 32, alone: true, source: "docs.databricks.com: Personal access token authentication"},
		{name: "Docker token", prefix: "dckr_pat_", class: url64, least: 20, source: "docs.docker.com: Personal access tokens"},
		{name: "Docker token", prefix: "dckr_oat_", class: url64, least: 20, source: "docs.docker.com: Organization access tokens"},
		{name: "Vault token", prefix: "hvs.", class: dotted, least: 24, alone: true, source: "developer.hashicorp.com: Vault, Tokens, Token prefixes (service)"},
		{name: "Vault token", prefix: "hvb.", class: dotted, least: 24, alone: true, source: "developer.hashicorp.com: Vault, Tokens, Token prefixes (batch)"},
		{name: "Terraform token", prefix: ".atlasv1.", class: url64, least: 40, source: "developer.hashicorp.com: HCP Terraform API tokens"},
		{name: "Fly.io token", prefix: "fo1_", class: url64, least: 32, alone: true, source: "fly.io/docs: Access tokens"},
		{name: "Fly.io token", prefix: "FlyV1 fm2_", class: std64, least: 32, source: "fly.io/docs: Access tokens (macaroons)"},
		{name: "Mailgun key", prefix: "key-", class: hexes, least: 32, alone: true, source: "documentation.mailgun.com: Authentication"},
		{name: "Mailchimp key", prefix: "md-", class: url64, least: 22, alone: true, source: "mailchimp.com/developer: Transactional API, Authentication"},
		{name: "New Relic key", prefix: "NRAK-", class: uppers, least: 24, source: "docs.newrelic.com: New Relic API keys (user)"},
		{name: "Postman key", prefix: "PMAK-", class: wordDash, least: 40, source: "learning.postman.com: Generate and use Postman API keys"},
		{name: "Grafana token", prefix: "glsa_", class: wordLow, least: 32, source: "grafana.com/docs: Service accounts"},
		{name: "Grafana token", prefix: "glc_", class: std64, least: 32, alone: true, source: "grafana.com/docs: Grafana Cloud access policies"},
		{name: "Doppler token", prefix: "dp.pt.", class: word, least: 40, alone: true, source: "docs.doppler.com: Auth token formats (personal)"},
		{name: "Doppler token", prefix: "dp.st.", class: dotted, least: 40, alone: true, source: "docs.doppler.com: Auth token formats (service)"},
		{name: "Atlassian token", prefix: "ATATT3", class: bearer, least: 40, source: "support.atlassian.com: Manage API tokens for your Atlassian account"},
		{name: "Notion token", prefix: "ntn_", class: word, least: 40, alone: true, source: "developers.notion.com: Authorization, changes to token format"},
		{name: "Figma token", prefix: "figd_", class: url64, least: 32, source: "developers.figma.com: Personal access tokens"},
		{name: "Sentry token", prefix: "sntrys_", class: bearer, least: 40, source: "docs.sentry.io: Auth tokens (organization)"},
		{name: "Sentry token", prefix: "sntryu_", class: hexes, least: 40, source: "docs.sentry.io: Auth tokens (user)"},
		{name: "PlanetScale token", prefix: "pscale_tkn_", class: dotted, least: 32, source: "planetscale.com/docs: Service tokens"},
		{name: "Supabase token", prefix: "sbp_", class: hexes, least: 40, alone: true, source: "supabase.com/docs: Management API, Authentication"},
		{name: "Groq key", prefix: "gsk_", class: word, least: 40, alone: true, source: "console.groq.com/docs: Quickstart, API keys"},
		{name: "xAI key", prefix: "xai-", class: word, least: 40, alone: true, source: "docs.x.ai: Quickstart, API keys"},
		{name: "Perplexity key", prefix: "pplx-", class: word, least: 40, alone: true, source: "docs.perplexity.ai: API key management"},
		{name: "age key", prefix: "AGE-SECRET-KEY-1", class: uppers, least: 40, source: "age-encryption.org: the age file format, X25519 identities"},
		{name: "HTTP authorization", prefix: "uthorization: Bearer ", class: bearer, least: 16, keep: true, source: "RFC 6750, section 2.1"},
		{name: "HTTP authorization", prefix: "uthorization: bearer ", class: bearer, least: 16, keep: true, source: "RFC 6750, section 2.1"},
		{name: "HTTP authorization", prefix: "UTHORIZATION: bearer ", class: bearer, least: 16, keep: true, source: "RFC 6750, section 2.1"},
		{name: "HTTP authorization", prefix: "uthorization: Basic ", class: bearer, least: 8, keep: true, source: "RFC 7617, section 2"},
		{name: "HTTP authorization", prefix: "uthorization: basic ", class: bearer, least: 8, keep: true, source: "RFC 7617, section 2"},
		{name: "HTTP authorization", prefix: "UTHORIZATION: basic ", class: bearer, least: 8, keep: true, source: "RFC 7617, section 2"},
		{name: "HTTP authorization", prefix: "uthorization: token ", class: bearer, least: 16, keep: true, source: "docs.github.com: Authenticating to the REST API"},
		{name: "URL credentials", prefix: "://", keep: true, rest: credentials, source: "RFC 3986, section 3.2.1"},
		{name: "JSON web token", prefix: "eyJ", alone: true, rest: webToken, source: "RFC 7519, section 3.1; RFC 7515, section 7.1"},
		{name: "private key", prefix: "-----BEGIN ", rest: privateKey, source: "RFC 7468, sections 10 and 11; openssh.com: PROTOCOL.key"},
	}
}

const (
	maxUserinfo = 512      // bytes of a name with its password in a URL
	maxWebToken = 16 << 10 // bytes of a token whose parts are separated by dots
	maxPrivate  = 32 << 10 // bytes of a private key with its frame
)

// credentials are user:password of a URL, up to the @.
func credentials(text []byte, prefix int, final bool) (int, verdict) {
	colon := -1
	for i := prefix; i < len(text) && i-prefix <= maxUserinfo; i++ {
		switch b := text[i]; {
		case b == '@' && colon > prefix-1 && i > colon+1:
			return i, yes
		case classes[b]&userinfo == 0:
			return 0, no
		case b == ':' && colon < 0:
			colon = i
		}
	}
	if final || len(text)-prefix > maxUserinfo {
		return 0, no
	}
	return 0, more
}

// webToken is three parts in base64 with a dot between, the first an object of JSON.
func webToken(text []byte, prefix int, final bool) (int, verdict) {
	const least = 10 // bytes of a part
	part, dots := 0, 0
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case i == maxWebToken && dots == 2 && part >= least:
			return i, yes
		case i == maxWebToken:
			return 0, no
		case classes[b]&url64 != 0:
			part++
			continue
		case b == '.' && dots < 2 && part >= least:
			dots++
			part = 0
			continue
		}
		if dots == 2 && part >= least {
			return i, yes
		}
		return 0, no
	}
	switch {
	case !final:
		return 0, more
	case dots == 2 && part >= least:
		return len(text), yes
	}
	return 0, no
}

// privateKey is a block of PEM whose label says so, up to its end line. One without an end is
// taken as far as it looks like one.
func privateKey(text []byte, prefix int, final bool) (int, verdict) {
	const begin, end = "-----BEGIN ", "-----END "
	label, v := privateLabel(text[prefix:], final)
	if v != yes {
		return 0, v
	}
	at := prefix + label
	limit := min(len(text), maxPrivate)
	whole := final || limit == maxPrivate // nothing comes any more that counts
	body := text[at:limit]
	for k, b := range body {
		switch {
		case b == '-' && (bytes.HasPrefix(body[k:], []byte(begin)) || !whole && bytes.HasPrefix([]byte(begin), body[k:])):
			if len(body)-k < len(begin) {
				return 0, more
			}
			return at + k, yes
		case b == '-' && bytes.HasPrefix(body[k:], []byte(end)):
			tail, v := endLabel(body[k+len(end):], whole)
			if v != yes {
				return 0, v
			}
			return at + k + len(end) + tail, yes
		case classes[b]&std64 == 0 && bytes.IndexByte([]byte(" \t\r\n\\:,-_\"'|>*#"), b) < 0:
			return at + k, yes
		}
	}
	if whole {
		return limit, yes
	}
	return 0, more
}

// The labels of PEM: how long one may be, in bytes, and what is behind it.
const (
	maxLabel    = 40
	behindLabel = "-----"
)

// privateLabel is the length of the label that a text begins with, and of what is behind it; the verdict is yes
// where it is that of a private key.
func privateLabel(text []byte, final bool) (int, verdict) {
	head := text[:min(len(text), maxLabel)]
	i := bytes.Index(head, []byte(behindLabel))
	switch {
	case i >= 0 && bytes.Contains(head[:i], []byte("PRIVATE KEY")):
		return i + len(behindLabel), yes
	case i < 0 && len(head) < maxLabel && !final && bytes.IndexByte(head, '\n') < 0:
		return 0, more
	}
	return 0, no
}

// endLabel is the length of the label of an end line, and of what is behind it: 0 where that is none. With
// whole, nothing comes behind the text.
func endLabel(text []byte, whole bool) (int, verdict) {
	if i := bytes.Index(text[:min(len(text), maxLabel)], []byte(behindLabel)); i >= 0 {
		return i + len(behindLabel), yes
	}
	if len(text) >= maxLabel || whole {
		return 0, yes
	}
	return 0, more
}
