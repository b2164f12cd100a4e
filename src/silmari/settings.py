"""All settings in one model: keyword arguments, SILMARI_* variables, silmari.toml, defaults, in that order."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import platformdirs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from silmari.errors import UsageError


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; write a sentence, or leave the language out")
    return text.strip()


_Sentence = Annotated[str, Field(max_length=2000), AfterValidator(_said)]


class Expansion(BaseModel):
    """How far the way ``expansion`` reaches, and what it keeps."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    top_k: int = Field(default=3, ge=1, le=1000, description="Similar entities for each name, and similar relations.")
    degree: int = Field(default=1, ge=1, le=2, description="Steps over the graph from there.")
    budget: int = Field(
        default=200, ge=1, le=5000, description="Relations that are kept at each step, the most similar ones."
    )
    rerank: int = Field(default=3, ge=1, le=100, description="Relations whose passages come first.")
    entity_threshold: float = Field(default=0.0, ge=0, le=1, description="Least relevance of a similar entity.")
    relation_threshold: float = Field(default=0.0, ge=0, le=1, description="Least relevance of a similar relation.")
    k: int = Field(
        default=2, ge=1, le=1000, description="How many passages, where neither the call nor the settings say."
    )

    def changed(self, given: Mapping[str, Any] | None) -> Expansion:
        """These parameters with some of them replaced.

        Raises:
            UsageError: One sentence that names the first parameter that is wrong.
        """
        if not given:
            return self
        try:
            return Expansion(**{**self.model_dump(), **given})
        except ValidationError as error:
            problem = error.errors()[0]
            name = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                known = ", ".join(Expansion.model_fields)
                raise UsageError(f"The way expansion has no parameter named {name}; it has {known}.") from None
            raise UsageError(
                f"The parameter {name} of the way expansion is {problem['input']!r}: {problem['msg'].lower()}."
            ) from None


class Settings(BaseSettings):
    """What a knowledge base is opened with; see docs/settings.md.

    Sizes are in bytes unless the name says otherwise; times are in seconds.
    """

    model_config = SettingsConfigDict(
        env_prefix="SILMARI_", toml_file="silmari.toml", extra="forbid", frozen=True, env_ignore_empty=True
    )

    kb: Path = Field(Path(".silmari"), description="Folder of the knowledge base.")
    cache: Path = Field(
        Path(platformdirs.user_cache_dir("silmari")), description="Shared cache of vectors, by content."
    )
    embedder: str = Field("bundled", description="Name of the embedder, such as bundled or openai:NAME.")
    embedder_threads: int | None = Field(None, ge=1, description="Cores for an embedder that runs here; none: all.")
    llm: str | None = Field(None, description="Chat model that writes answers; none: quoted sentences.")
    base_url: str | None = Field(None, description="Base URL of an OpenAI-compatible service for llm and embedder.")
    api_key: SecretStr | None = Field(None, description="Its key; else the provider's own variable is read.")
    engine: str | None = Field(
        None,
        description="Engine URL; none: the one that the base was made with or moved to, at first local. "
        "See docs/engines.md.",
    )
    catalog: str = Field(
        "sqlite",
        repr=False,  # a password may stand in it
        description="Where the catalog is: sqlite (in the folder) or postgresql://user@host:port/database.",
    )

    k: int = Field(5, ge=1, le=1000, description="How many hits a search returns.")
    way: str = Field("fused", description="Way of retrieval.")
    relations: Literal["sentences", "given", "triplets"] | None = Field(
        None,
        description="Where relations come from: given (triplets that documents bring), sentences or triplets (llm); "
        "none: given where a document brings triplets, else sentences.",
    )
    rerank: Literal["auto", "always", "never"] = Field(
        "auto", description="When the chat model reorders what the ways expansion and graph found."
    )
    expansion: Expansion = Field(Expansion(), description="Parameters of the way expansion.")
    min_relevance: float = Field(
        0.25, ge=0, le=1, description="Least relevance that an answer is built from; below: not found."
    )

    prompt_tokens: int = Field(
        8000, ge=200, le=1_000_000, description="Tokens that a prompt for a written answer may take, sources and all."
    )
    fallback: dict[Literal["ko", "en"], _Sentence] = Field(
        {}, description="What is said when the documents do not answer, by language: ko, en."
    )

    policy: dict[str, Any] = Field({}, description="Policies of your own, as [policy.NAME]; see docs/policies.md.")
    default_policy: str = Field("best", description="Policy of a search that names none: best, fresh, latest or yours.")
    time: bool = Field(True, description="Whether times in questions, such as last month, choose among dated passages.")
    now: dt.date | None = Field(None, description="Today's date for ages and for times in questions; none: the clock.")
    file_time_dates: bool = Field(
        False, description="Whether the time of a file counts as its date if nothing else does."
    )

    passage_words: int = Field(200, ge=20, le=2000, description="Length of a passage in words (Latin text).")
    passage_chars: int = Field(500, ge=50, le=8000, description="Length of a passage in characters (Korean, CJK).")
    user_dictionary: Path | None = Field(None, description="Kiwi user dictionary for Korean analysis.")

    max_file_mb: int = Field(200, ge=1, description="Largest file that is read, in MB.")
    max_pages: int = Field(5000, ge=1, description="PDF pages that are read; a longer one is cut and says so.")
    max_cells: int = Field(5_000_000, ge=1, description="Cells of a table file that are read.")
    max_cell_chars: int = Field(32_767, ge=100, description="Characters of one cell that are kept.")
    exclude: tuple[str, ...] = Field((), description="Glob patterns of files that are passed over.")
    password: SecretStr | None = Field(None, description="Password for encrypted PDF files.")

    concurrency: int = Field(16, ge=1, le=256, description="Model calls in flight at once.")
    timeout: float = Field(60.0, gt=0, description="Deadline of one model call.")
    total_timeout: float = Field(180.0, gt=0, description="Deadline of a call with all its retries.")
    max_cost: float | None = Field(
        None, ge=0, description="US dollars that calls of llm may cost while the base is open; none: no limit."
    )
    prices: dict[str, tuple[float, float]] = Field(
        {}, description="US dollars for a million tokens in and out, by provider:model, beside the known ones."
    )

    @classmethod
    def load(cls, **options: Any) -> Self:
        """Settings from options (those that are None count as not given), environment and silmari.toml.

        Raises:
            UsageError: One sentence that names the first field that is wrong.
        """
        try:
            return cls(**{name: value for name, value in options.items() if value is not None})
        except ValidationError as error:
            problem = error.errors()[0]
            name = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                raise UsageError(f"There is no setting named {name}; see silmari.toml and docs/settings.md.") from None
            what = problem["msg"].removeprefix("Value error, ")
            name = name.removesuffix(".[key]")
            raise UsageError(f"The setting {name} is {problem['input']!r}: {what[0].lower() + what[1:]}.") from None
        except SettingsError as error:
            field = re.search(r'field "(\w+)"', str(error))
            variable = f"SILMARI_{field[1].upper()}" if field else "a SILMARI_ variable"
            raise UsageError(f"The value of {variable} is no valid JSON; see docs/settings.md for its form.") from None
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"silmari.toml is no valid TOML: {error}; mend that line.") from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Keyword arguments first, then the environment, then silmari.toml in the working folder."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)
